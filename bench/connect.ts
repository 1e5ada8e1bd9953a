// The project's own client, as the administrator of a cluster in another process.

import type { Client } from '../src/client/client.ts';
import { createClient } from '../src/client/create-client.ts';
import { createHttpTransport } from '../src/client/http/index.ts';
import { systemClock } from '../src/machinery/clock.ts';
import type { Target } from './built-cluster.ts';

export function connectTo(target: Target): { readonly client: Client; close(): void } {
  const transport = createHttpTransport({
    clock: systemClock,
    server: `https://${target.host}:${target.port}`,
    ca: target.ca,
    clientCertificate: target.cert,
    clientKey: target.key,
  });
  return { client: createClient(transport), close: () => transport.close() };
}
