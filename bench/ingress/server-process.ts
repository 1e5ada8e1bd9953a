// Runs one of the processes of the ingress benchmark; each prints its port.
//
//
//
//   server-process.ts backend          answers with 1 KB
//
//   server-process.ts bare PORT        a proxy of node:http alone, in front of the port
//
//   server-process.ts proxy PORT       ours, with 1,000 hosts

import { Agent, createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { IngressMetrics, NodeProxy } from '#ingress/index.ts';
import { action, backend, configuration, listener, rule } from '#ingress/testing/configurations.ts';
import { systemClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';

const HOSTS = 1000;
const [role, text] = process.argv.slice(2);
const port = Number(text);

function serve(server: Server): void {
  server.listen(0, '127.0.0.1', () =>
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`),
  );
}

if (role === 'backend') {
  const body = Buffer.alloc(1024, 'x');
  serve(
    createServer((_request, response) =>
      response.writeHead(200, { 'content-length': body.length }).end(body),
    ),
  );
} else if (role === 'bare') {
  const agent = new Agent({ keepAlive: true });
  serve(
    createServer((request, response) => {
      const { method, url = '/', headers } = request;
      const back = httpRequest(
        { agent, host: '127.0.0.1', port, method, path: url, headers },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        },
      );
      request.pipe(back);
    }),
  );
} else {
  const logger = createLogger({ level: 'warn' });
  const proxy = new NodeProxy({
    clock: systemClock,
    random: systemRandom,
    logger,
    metrics: new IngressMetrics(),
  });
  const rules = [rule(action(backend([{ ip: '127.0.0.1', port }])))];
  const hosts = Array.from({ length: HOSTS }, (_, i) =>
    listener(rules, { hostname: `h${i}.example` }),
  );
  await proxy.apply(configuration([...hosts, listener(rules)]));
  process.stdout.write(`${proxy.portOf('127.0.0.1', 0)}\n`);
}
