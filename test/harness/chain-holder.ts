import { startSandboxChain } from '../../sandbox/chain/sandbox-chain.ts'

/* A process that does nothing but own a sandbox chain: prints what it is, then pays as its standard input says. */
const [stateFile = ''] = process.argv.slice(2)
const chain = await startSandboxChain({ stateFile })
console.log(JSON.stringify({ rpcUrl: chain.rpcUrl }))
process.stdin.setEncoding('utf8').on('data', (to: string) => {
  void chain.pay({ to: to.trim(), amount: '1.25' }).then(({ txHash }) => console.log(JSON.stringify({ txHash })))
})
