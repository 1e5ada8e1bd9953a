// Runs the DNS server in a process of its own, with an API server in another process, like CoreDNS.
//
//
//
//   server-process.ts KUBECONFIG     prints the port

import { createClient } from '#client/create-client.ts';
import { createHttpTransport } from '#client/http/index.ts';
import { loadKubeconfig } from '#client/kubeconfig.ts';
import { DnsServer, nodeSockets } from '#dns/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';

const access = await loadKubeconfig(process.argv[2]!);
const heapAtStart = process.memoryUsage().heapUsed;
const server = new DnsServer({
  client: createClient(
    createHttpTransport({ ...access, clock: systemClock, userAgent: 'dns-bench' }),
  ),
  sockets: { ...nodeSockets, readResolvConf: () => Promise.resolve('') },
  clock: systemClock,
  random: systemRandom,
  logger: createLogger({ level: 'warn' }),
  listen: [{ address: '127.0.0.1', port: 0 }],
  allowedClients: ['127.0.0.0/8'],
});
await server.start();
await server.waitForSync(AbortSignal.timeout(120_000));
process.stdout.write(`${server.addresses[0]?.port}\n`);
process.on('SIGUSR2', () => {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ records: heapUsed + external - heapAtStart, rss })}\n`);
});
