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
    ...(target.ca === undefined ? { insecureSkipTlsVerify: true } : { ca: target.ca }),
    ...(target.cert !== undefined && { clientCertificate: target.cert }),
    ...(target.key !== undefined && { clientKey: target.key }),
    ...(target.token !== undefined && { token: target.token }),
  });
  return { client: createClient(transport), close: () => transport.close() };
}
