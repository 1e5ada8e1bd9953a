// Flags of `cox apiserver` that change who is let in, what they may do, and how: each is tried on a server.

import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '#machinery/log.ts';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { makeTestAuthority } from '#apiserver/testing/certificates.ts';
import { systemRandom } from '#machinery/random.ts';
import { tokenSigner } from '#machinery/token-keys.ts';
import { Pki } from '../credentials/pki.ts';
import {
  type ApiServerRoleConfig,
  type RunningApiServer,
  startApiServerRole,
} from './api-server.ts';

let dir: string;
let server: RunningApiServer | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cox-apiserver-'));
  file(
    'sa.key',
    generateKeyPairSync('rsa', { modulusLength: 2048 })
      .privateKey.export({ type: 'pkcs1', format: 'pem' })
      .toString(),
  );
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
  rmSync(dir, { recursive: true, force: true });
});

function file(name: string, text: string): string {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
}

async function start(flags: Partial<ApiServerRoleConfig>): Promise<void> {
  await server?.stop();
  server = await startApiServerRole({
    store: 'memory',
    etcd: { servers: [] },
    certDir: dir,
    bindAddress: '127.0.0.1',
    securePort: 0,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    ...flags,
  });
}

interface Reply {
  readonly code: number;
  readonly body: Record<string, never>;
  readonly headers: IncomingHttpHeaders;
}

function ask(
  path: string,
  options: { token?: string; method?: string; body?: object; cert?: string; key?: string } = {},
): Promise<Reply> {
  const { token, method = 'GET', body, cert, key } = options;
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(
      `${server?.url}${path}`,
      { method, headers, cert, key, rejectUnauthorized: false, agent: false },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
        response.on('end', () =>
          resolve({
            code: response.statusCode ?? 0,
            body: text.startsWith('{') ? JSON.parse(text) : {},
            headers: response.headers,
          }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const codeOf = async (path: string, token?: string): Promise<number> =>
  (await ask(path, { token })).code;
const tokenFile = (): string =>
  file('tokens.csv', '# static\nadmin-token,admin,1,"system:masters, others"\njoe-token,joe,2\n');

test('in a directory without a serving certificate one is made, and used again', async () => {
  await start({});
  const [leaf = '', authority = ''] =
    readFileSync(join(dir, 'apiserver.crt'), 'utf8').match(
      /-----BEGIN[^]*?-----END CERTIFICATE-----/g,
    ) ?? [];
  const certificate = new X509Certificate(leaf);
  expect(certificate.checkIssued(new X509Certificate(authority))).toBe(true);
  for (const name of ['localhost', 'kubernetes.default.svc'])
    expect(certificate.checkHost(name)).toBe(name);
  for (const address of ['127.0.0.1', '10.96.0.1'])
    expect(certificate.checkIP(address)).toBe(address);
  expect(statSync(join(dir, 'apiserver.key')).mode & 0o777).toBe(0o600);
  await start({});
  expect(readFileSync(join(dir, 'apiserver.crt'), 'utf8')).toContain(leaf);
  expect(await codeOf('/healthz')).toBe(200);
});

test('without an authority of clients, certificates prove nothing', async () => {
  const pki = await Pki.open({ clock: systemClock, random: systemRandom });
  const client = await pki.sign({
    commonName: 'admin',
    organizations: ['system:masters'],
    usage: 'client',
  });
  await start({});
  expect(existsSync(join(dir, 'ca.crt'))).toBe(false);
  expect((await ask('/api', client)).code).toBe(401);
  await start({ clientCaFile: file('clients.crt', pki.caCertificate) });
  expect((await ask('/api', client)).code).toBe(200);
});

test('anonymous requests', async () => {
  const codes = async (): Promise<readonly number[]> => [
    await codeOf('/healthz'),
    await codeOf('/api'),
    await codeOf('/api/v1/pods'),
  ];
  await start({});
  expect(await codes()).toEqual([200, 401, 401]);
  await start({ anonymousAuth: true });
  expect(await codes()).toEqual([200, 403, 403]);
  await start({ anonymousAuth: false });
  expect(await codes()).toEqual([401, 401, 401]);
  await start({ anonymousAuth: true, authorizationMode: ['AlwaysAllow'] });
  expect(await codes()).toEqual([200, 401, 401]);
});

test('static tokens, for this server only, and authorization modes', async () => {
  const tokenAuthFile = tokenFile();
  await start({ tokenAuthFile });
  expect([
    await codeOf('/api/v1/nodes', 'admin-token'),
    await codeOf('/api/v1/nodes', 'joe-token'),
  ]).toEqual([200, 403]);
  expect(await codeOf('/api', 'unknown-token')).toBe(401);
  const review = async (audiences: readonly string[]): Promise<unknown> => {
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: 'joe-token', audiences },
    };
    const reply = await ask('/apis/authentication.k8s.io/v1/tokenreviews', {
      token: 'admin-token',
      method: 'POST',
      body,
    });
    return (reply.body as { status?: { authenticated?: boolean } }).status?.authenticated ?? false;
  };
  expect([
    await review([]),
    await review(['https://kubernetes.default.svc.cluster.local']),
    await review(['vault']),
  ]).toEqual([true, true, false]);
  await start({ tokenAuthFile, authorizationMode: ['AlwaysAllow'] });
  expect(await codeOf('/api/v1/nodes', 'joe-token')).toBe(200);
  await start({ tokenAuthFile, authorizationMode: ['AlwaysDeny'] });
  expect([
    await codeOf('/api/v1/nodes', 'admin-token'),
    await codeOf('/api/v1/nodes', 'joe-token'),
  ]).toEqual([200, 403]);
});

test('tokens of accounts by an RSA key, and by other keys and issuers that are named', async () => {
  const tokenAuthFile = tokenFile();
  const pem = (): string =>
    generateKeyPairSync('ec', { namedCurve: 'P-384' })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString();
  const [known, unknown] = [pem(), pem()];
  const publicKey = createPublicKey(known).export({ type: 'spki', format: 'pem' }).toString();
  const flags = {
    tokenAuthFile,
    serviceAccountKeyFile: [file('other.pub', publicKey)],
    serviceAccountIssuer: ['https://new', 'https://old'],
    apiAudiences: ['here', 'there'],
  };
  await start(flags);
  const as = { token: 'admin-token', method: 'POST' };
  const account = await ask('/api/v1/namespaces/default/serviceaccounts', {
    ...as,
    body: { metadata: { name: 'joe' } },
  });
  const { uid } = (account.body as unknown as { metadata: { uid: string } }).metadata;
  const requested = await ask('/api/v1/namespaces/default/serviceaccounts/joe/token', {
    ...as,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  const { token } = (requested.body as unknown as { status: { token: string } }).status;
  const part = (index: number): Record<string, unknown> =>
    JSON.parse(Buffer.from(token.split('.')[index] as string, 'base64url').toString('utf8'));
  expect(part(0)['alg']).toBe('RS256');
  expect(part(1)).toMatchObject({ iss: 'https://new', aud: ['here', 'there'] });
  expect(await codeOf('/api', token)).toBe(200);
  const claims = (iss: string) => ({
    iss,
    aud: 'there',
    sub: 'system:serviceaccount:default:joe',
    exp: Math.floor(systemClock.now() / 1000) + 600,
    'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'joe', uid } },
  });
  expect(await codeOf('/api', tokenSigner(known).sign(claims('https://old')))).toBe(200);
  expect(await codeOf('/api', tokenSigner(known).sign(claims('https://other')))).toBe(401);
  expect(await codeOf('/api', tokenSigner(unknown).sign(claims('https://old')))).toBe(401);
});

test('the version of TLS and its cipher suites', async () => {
  const handshake = (options: object): Promise<string> =>
    new Promise((resolve) => {
      const port = Number(new URL(server?.url as string).port);
      const socket = connect(
        { host: '127.0.0.1', port, rejectUnauthorized: false, ...options },
        () => {
          resolve(`${socket.getProtocol()} ${socket.getCipher().standardName}`);
          socket.destroy();
        },
      );
      socket.on('error', () => resolve('refused'));
    });
  await start({ tlsMinVersion: 'VersionTLS13' });
  expect(await handshake({ maxVersion: 'TLSv1.2' })).toBe('refused');
  expect(await handshake({})).toMatch(/^TLSv1\.3/);
  await start({ tlsCipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'] });
  expect(await handshake({ maxVersion: 'TLSv1.2' })).toBe(
    'TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  );
  expect(await handshake({ maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' })).toBe(
    'refused',
  );
  expect(await handshake({})).toMatch(/^TLSv1\.3/);
  const [cbc, gcm] = ['ECDHE-ECDSA-AES256-SHA', 'ECDHE-ECDSA-AES256-GCM-SHA384'];
  expect(await handshake({ maxVersion: 'TLSv1.2', ciphers: cbc })).toBe('refused');
  await start({
    tlsCipherSuites: [
      'TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA',
      'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
    ],
  });
  expect(await handshake({ maxVersion: 'TLSv1.2', ciphers: cbc })).toBe(
    'TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA',
  );
  // The better one is preferred, whatever the orders are.
  expect(await handshake({ maxVersion: 'TLSv1.2', ciphers: `${cbc}:${gcm}` })).toBe(
    'TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  );
});

test('the key exchanges of TLS', async () => {
  await start({ tlsCurvePreferences: [24, 23] });
  const codeWith = async (ecdhCurve: string): Promise<string> =>
    new Promise((resolve) => {
      const port = Number(new URL(server?.url as string).port);
      const options = { host: '127.0.0.1', port, rejectUnauthorized: false, ecdhCurve };
      const socket = connect(options, () => {
        resolve('accepted');
        socket.destroy();
      });
      socket.on('error', () => resolve('refused'));
    });
  expect(await codeWith('P-256')).toBe('accepted');
  expect(await codeWith('P-384')).toBe('accepted');
  expect(await codeWith('P-521')).toBe('refused');
  expect(await codeWith('X25519')).toBe('refused');
  for (const [numbers, problem] of [
    [[0], '0 is out of range (must be 1-65535)'],
    [[23, 29, 23], '23 is a duplicate'],
    [[9999], '9999 is not supported by OpenSSL'],
  ] as const)
    await expect(start({ tlsCurvePreferences: numbers })).rejects.toThrow(
      `--tls-curve-preferences: curve preference ${problem}`,
    );
});

test('defaults of pods, and how long events are kept', async () => {
  await start({
    tokenAuthFile: tokenFile(),
    disableAdmissionPlugins: ['ServiceAccount', 'MutatingAdmissionWebhook'],
    defaultNotReadyTolerationSeconds: 7,
    defaultUnreachableTolerationSeconds: 8,
    eventTtl: 1000,
  });
  const as = { token: 'admin-token', method: 'POST' };
  const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const made = await ask('/api/v1/namespaces/default/pods', { ...as, body: pod });
  const { tolerations } = (
    made.body as unknown as { spec: { tolerations: readonly { tolerationSeconds: number }[] } }
  ).spec;
  expect(tolerations.map(({ tolerationSeconds }) => tolerationSeconds)).toEqual([7, 8]);
  const event = { metadata: { name: 'e' }, involvedObject: { namespace: 'default' } };
  expect((await ask('/api/v1/namespaces/default/events', { ...as, body: event })).code).toBe(201);
  await expect
    .poll(() => codeOf('/api/v1/namespaces/default/events/e', 'admin-token'), { timeout: 20_000 })
    .toBe(404);
});

test('every response has the directives of strict transport security', async () => {
  await start({ strictTransportSecurityDirectives: ['max-age=31536000', 'includeSubDomains'] });
  for (const path of ['/healthz', '/api/v1/namespaces', '/nothing'])
    expect((await ask(path)).headers['strict-transport-security']).toBe(
      'max-age=31536000; includeSubDomains',
    );
  await expect(start({ strictTransportSecurityDirectives: ['max-age'] })).rejects.toThrow(
    '--strict-transport-security-directives invalid',
  );
});

test('the authority of clients is read again, and a share of connections is closed', async () => {
  const authorities = [
    await makeTestAuthority('first'),
    await makeTestAuthority('second'),
  ] as const;
  const [first, second] = authorities;
  const clock = new VirtualClock({ start: systemClock.now() });
  await start({ clock, clientCaFile: file('clients.crt', first.cert), goawayChance: 0.02 });
  const codes = async () =>
    Promise.all(
      authorities.map(async (each) => {
        const credentials = await each.client('anna', ['system:masters']);
        return (await ask('/api/v1/namespaces', { ...credentials })).code;
      }),
    );
  expect(await codes()).toEqual([200, 401]);
  file('clients.crt', 'no certificate');
  await clock.advance('2m');
  expect(await codes()).toEqual([200, 401]);
  file('clients.crt', second.cert);
  await clock.advance('2m');
  expect(await codes()).toEqual([401, 200]);
  await expect(start({ goawayChance: 0.03 })).rejects.toThrow(
    '--goaway-chance can not be less than 0 or greater than 0.02',
  );
});

test('kubelets are reached without a certificate, and are not verified without an authority', async () => {
  const { cert, key } = await (await makeTestAuthority()).server();
  const paths: (string | undefined)[] = [];
  const kubelet = createServer({ cert, key }, (asked, response) => {
    paths.push(asked.url);
    response.end('said');
  });
  kubelet.listen(0, '127.0.0.1');
  await once(kubelet, 'listening');
  const { port: Port } = kubelet.address() as AddressInfo;
  const logCodes = async (flags: Partial<ApiServerRoleConfig>): Promise<readonly number[]> => {
    await start({
      tokenAuthFile: tokenFile(),
      disableAdmissionPlugins: ['ServiceAccount', 'MutatingAdmissionWebhook'],
      ...flags,
    });
    const status = {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port } },
    };
    const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] };
    const as = { token: 'admin-token', method: 'POST' };
    await ask('/api/v1/nodes', { ...as, body: { metadata: { name: 'n' }, status } });
    const pods = '/api/v1/namespaces/default/pods';
    await ask(pods, { ...as, body: { metadata: { name: 'p' }, spec } });
    return [
      await codeOf(`${pods}/p/log`, 'admin-token'),
      await codeOf(`${pods}/p/log?insecureSkipTLSVerifyBackend=true`, 'admin-token'),
    ];
  };
  try {
    expect(await logCodes({})).toEqual([200, 200]);
    expect(paths).toEqual(['/containerLogs/default/p/c', '/containerLogs/default/p/c']);
    const { cert: another } = await makeTestAuthority('another');
    const kubeletCertificateAuthority = file('kubelets.crt', another);
    expect(await logCodes({ kubeletCertificateAuthority })).toEqual([500, 200]);
    // The directory's authority is the default.
    file('ca.crt', another);
    expect(await logCodes({})).toEqual([500, 200]);
    // No metrics.k8s.io, since kubelets seldom show their summaries to anonymous clients.
    expect(await codeOf('/apis/metrics.k8s.io', 'admin-token')).toBe(404);
  } finally {
    kubelet.closeAllConnections();
    kubelet.close();
  }
});
