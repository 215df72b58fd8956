/** All that a process of the service inherits in a test: where programs are, and code that is compiled already. */
export const bareEnv = (): Record<string, string> => {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  return { PATH, NODE_COMPILE_CACHE }
}
