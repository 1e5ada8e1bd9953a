// The project's own client, as the administrator of a cluster in another process.

import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createHttpTransport } from '#client/http/index.ts';
import { systemClock } from '#machinery/clock.ts';
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
