/* What the launcher's tests launch: says who it is, then ends as its first argument says. */
const [how = '', ...rest] = process.argv.slice(2)
process.on('SIGTERM', () => {
  console.log('asked to end')
  process.exit(7)
})
console.log(JSON.stringify({ version: process.version, pid: process.pid, how, rest }))
if (how === 'exit') process.exit(Number(rest[0]))
if (how === 'wait') setInterval(() => {}, 1000)
