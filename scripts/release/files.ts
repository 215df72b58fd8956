/** What a release is made of: the archive holds these, and the container copies the same. */
export const RELEASED = [
  ...[
    'bin',
    'cli',
    'deploy',
    'docs',
    'examples',
    'migrations',
    'sandbox',
    'sdk',
    'src',
    'web/office/dist',
    'web/pay',
    'web/sdkjs',
    'web/till',
  ],
  ...['package.json', 'package-lock.json', '.npmrc', '.env.example'],
  ...['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md'],
]
