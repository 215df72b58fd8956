/* Our own drawings on a 24-unit grid, stroke 1.75. */
const PATHS = {
  home: 'M4 11.5 12 5l8 6.5M6.5 10v9h11v-9',
  list: 'M5 6h14M5 12h14M5 18h9',
  link: 'M9.5 14.5l5-5M8 12l-2 2a3.5 3.5 0 0 0 5 5l2-2M16 12l2-2a3.5 3.5 0 0 0-5-5l-2 2',
  undo: 'M9 7 5 11l4 4M5 11h9a5 5 0 0 1 0 10h-2',
  alert: 'M12 4 3.5 19h17L12 4Zm0 6v4m0 2.5v.5',
  wallet: 'M4 7h14a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2V7Zm0 0 10-3v3M16 13.5h.5',
  bolt: 'M13 3 5 14h6l-1 7 8-11h-6l1-7Z',
  key: 'M14.5 9.5a4 4 0 1 0-3.4 3.9L13 15h2v2h2v2h3v-3l-5-5.2c.3-.4.5-.9.5-1.3ZM9.5 8.5h.5',
  code: 'm8 8-4 4 4 4m8-8 4 4-4 4M13.5 5l-3 14',
  shop: 'M4 9.5 6 4h12l2 5.5M4 9.5a2.7 2.7 0 0 0 5.3 0 2.7 2.7 0 0 0 5.4 0 2.7 2.7 0 0 0 5.3 0M5.5 12v8h13v-8M10 20v-5h4v5',
  people: 'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Zm-6 9a6 6 0 0 1 12 0M16 5a3 3 0 0 1 0 6m1 3a5 5 0 0 1 4 5',
  shield: 'M12 3.5 5 6v5.5c0 4.2 2.9 7.4 7 9 4.1-1.6 7-4.8 7-9V6l-7-2.5Zm-3 8.5 2.2 2.2L15.5 10',
  book: 'M5 5.5A1.5 1.5 0 0 1 6.500 4H19v14H6.500A1.500 1.500 0 0 0 5 19.500v-14Zm0 14A1.500 1.500 0 0 0 6.500 21H19M9 8h6',
  server: 'M5 4.500h14v6H5zM5 13.500h14v6H5zM8 7.500h.5M8 16.500h.5',
  plus: 'M12 5v14M5 12h14',
  x: 'm6 6 12 12M18 6 6 18',
  menu: 'M4 7h16M4 12h16M4 17h16',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14Zm5-2 4.500 4.500',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  inbox: 'M4 13l2.500-8h11L20 13v6H4v-6Zm0 0h5a3 3 0 0 0 6 0h5',
  check: 'm5 12.500 4.500 4.500L19 7.500',
  clock: 'M12 20.500a8.500 8.500 0 1 0 0-17 8.500 8.500 0 0 0 0 17Zm0-13V12l3 2',
  print: 'M7 9V4h10v5M7 17H4v-7h16v7h-3M7 14h10v6H7z',
  download: 'M12 4v11m-4-4 4 4 4-4M5 19.500h14',
  user: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7.500 8.500a7.500 7.500 0 0 1 15 0',
  next: 'm9 6 6 6-6 6',
} as const
export type IconName = keyof typeof PATHS

export const Icon = ({ name, size = 20 }: { name: IconName; size?: number }) => (
  <svg
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.75"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
    className="shrink-0"
  >
    <path d={PATHS[name]} />
  </svg>
)
