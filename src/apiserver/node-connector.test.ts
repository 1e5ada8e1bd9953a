import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import { AddressNotAllowedError } from '#machinery/net/peer/index.ts';
import { createTlsNodeConnector, type NodeTarget } from './node-connector.ts';
import { makeTestAuthority, type TestAuthority } from './testing/certificates.ts';

const clock = systemClock;
let authority: TestAuthority;
let kubelet: Server;
let target: NodeTarget;

beforeAll(async () => {
  authority = await makeTestAuthority();
  const serving = await authority.server();
  // A kubelet that lets anonymous clients in, and shows each client its name.
  kubelet = createServer(
    { ...serving, ca: authority.cert, requestCert: true, rejectUnauthorized: false },
    (socket) => {
      socket.on('error', () => undefined);
      socket.end(socket.authorized ? String(socket.getPeerCertificate().subject.CN) : 'anonymous');
    },
  );
  kubelet.listen(0, '127.0.0.1');
  await once(kubelet, 'listening');
  target = { name: 'n1', host: '127.0.0.1', port: (kubelet.address() as AddressInfo).port };
});
afterAll(() => kubelet.close());

/** Returns the name by which the kubelet knows the connector. */
async function nameAt(
  config: Omit<Parameters<typeof createTlsNodeConnector>[0], 'clock'>,
  node: Partial<NodeTarget> = {},
): Promise<string> {
  const connector = createTlsNodeConnector({ ...config, clock });
  const connection = (await connector.connect({ ...target, ...node })) as TLSSocket;
  let text = '';
  for await (const chunk of connection as AsyncIterable<Buffer>) text += chunk.toString();
  return text;
}

describe('a client certificate', () => {
  test('is shown to the kubelet', async () => {
    const pair = await authority.client('kube-apiserver');
    expect(await nameAt({ pair: () => pair, ca: authority.cert })).toBe('kube-apiserver');
  });

  test('may be absent: the connection is anonymous', async () => {
    expect(await nameAt({ pair: () => undefined, ca: authority.cert })).toBe('anonymous');
  });
});

describe('the certificate of the kubelet', () => {
  const UNKNOWN =
    'tls: failed to verify certificate: x509: certificate signed by unknown authority';

  test('is verified by the authority that is given', async () => {
    const { cert: ca } = await makeTestAuthority('another');
    await expect(nameAt({ pair: () => undefined, ca })).rejects.toThrow(UNKNOWN);
  });

  test('is not verified without an authority', async () => {
    expect(await nameAt({ pair: () => undefined, ca: undefined })).toBe('anonymous');
  });

  test('is not verified if the client of the request does not want it', async () => {
    const { cert: ca } = await makeTestAuthority('another');
    const config = { pair: () => undefined, ca };
    expect(await nameAt(config, { insecureSkipTlsVerify: true })).toBe('anonymous');
  });
});

test('paths that clients choose do not reach this machine', async () => {
  const config = { pair: () => undefined, ca: undefined };
  await expect(nameAt(config, { anyPath: true })).rejects.toThrow(AddressNotAllowedError);
});
