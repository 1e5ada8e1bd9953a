// Connections to a worker carry more than requests of the API: sign-ins and sessions of the
// console, tokens of an OpenID Connect provider, commands in containers, logs, and ports of pods.
// All connections of these tests go to the worker; sessions and nodes are the main process'.

import { type IncomingHttpHeaders } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { type Duplex, PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { pods } from '#api/groups/core/v1/index.ts';
import { makeTestAuthority } from '#apiserver/testing/certificates.ts';
import { COOKIE } from '#console/server/index.ts';
import type { Runtime } from '#cri/index.ts';
import { jwtOfFlags } from '#apiserver/authentication/oidc/settings.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { OidcProvider } from '#machinery/net/oidc/provider.ts';
import { startTestIssuer, type TestIssuer } from '#machinery/net/oidc/testing/test-issuer.ts';
import { systemRandom } from '#machinery/random.ts';
import { duplexPair } from '#machinery/streams/duplex-pair.ts';
import {
  execOverSpdy,
  execOverWebSocket,
  portForwardOverSpdy,
} from '#machinery/streams/remotecommand/index.ts';
import * as wait from '#machinery/wait.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { Cluster } from '../composition/cluster.ts';
import { ADMIN_USER } from '../credentials/admin-user.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import { Pki } from '../credentials/pki.ts';
import { simulatedNode } from '../nodes/simulated-machine.ts';
import { onlyWorkersAccept } from './testing/only-workers.ts';

// A worker loads the whole program first, which takes long while other programs use the machine.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 480_000 });

const clock = systemClock;
const random = systemRandom;
const CLIENT_ID = 'console';
const POD = '/api/v1/namespaces/default/pods/web';

let pki: Pki;
let issuer: TestIssuer;
let cluster: Cluster;
let credentials: { readonly cert: string; readonly key: string };

const metrics = (): Promise<string> =>
  cluster.client.transport.text({ method: 'GET', path: '/metrics' });

/** Resolves when the condition holds. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await wait.pollImmediately({ clock, intervalMs: 20, timeoutMs: 120_000 }, condition);
}

/** A simulated node whose pods send back what their ports receive. */
function echoingNode(): ClusterNode {
  const node = simulatedNode(
    { name: 'node-1', podCidrs: ['10.244.1.0/24'] },
    { clock, random, journal: undefined },
  );
  const { runtime } = node;
  const service = new Proxy(runtime.runtime, {
    get: (target, key) => {
      if (key === 'portForward')
        return (_sandbox: string, _port: number, stream: Duplex) => finished(stream.pipe(stream));
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const echoing: Runtime = {
    name: runtime.name,
    runtime: service,
    images: runtime.images,
    close: () => runtime.close(),
  };
  return { ...node, runtime: echoing };
}

beforeAll(async () => {
  pki = await Pki.open({ clock, random });
  const authority = await makeTestAuthority();
  issuer = await startTestIssuer({
    ...(await authority.server()),
    clientId: CLIENT_ID,
    now: () => clock.now(),
    claims: { sub: 'jane', groups: ['developers'] },
  });
  const provider = new OidcProvider({ issuer: issuer.url, ca: authority.cert, clock });
  const jwt = [
    jwtOfFlags({
      issuer: issuer.url,
      ca: authority.cert,
      clientId: CLIENT_ID,
      usernamePrefix: '-',
      groupsClaim: 'groups',
    }),
  ];
  cluster = await Cluster.make({
    clock,
    random,
    logger: silentLogger,
    storage: createMemoryStorage({ clock, logger: silentLogger }),
    pki,
    listen: { bindAddress: '127.0.0.1', port: 0 },
    nodes: [echoingNode()],
    podCidrs: ['10.244.0.0/16'],
    serviceCidr: '10.96.0.0/16',
    access: { config: { jwt: () => jwt } },
    console: {
      clock,
      random,
      oidc: { provider, clientId: CLIENT_ID, scopes: ['openid', 'groups'] },
    },
    apiWorkers: { min: 1, max: 1, logging: { level: 'error' } },
  });
  await cluster.begin();
  credentials = await pki.certificate('admin', {
    commonName: ADMIN_USER.name,
    organizations: ADMIN_USER.groups,
    usage: 'client',
  });
  const namespaced = cluster.client.resource(pods).namespace('default');
  await namespaced.create({
    metadata: { name: 'web' },
    spec: {
      containers: [
        { name: 'c', image: 'busybox:1.36', command: ['sh', '-c', 'echo hello; sleep 1d'] },
      ],
    },
  });
  await until(async () => (await namespaced.get('web')).status.phase === 'Running');
  await until(async () => (await metrics()).includes('\ncoxswain_api_server_workers 1\n'));
  onlyWorkersAccept(Number(new URL(cluster.url!).port));
});

afterAll(async () => {
  await cluster?.stop();
  await issuer?.stop();
});

interface Answer {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends a request on a connection of its own. `asAdmin`: with the administrator's certificate. */
function send(
  method: string,
  path: string,
  options: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: object;
    readonly asAdmin?: boolean;
  } = {},
): Promise<Answer> {
  const { headers = {}, body, asAdmin = false } = options;
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      new URL(path, cluster.url),
      {
        method,
        ca: pki.caCertificate,
        agent: false,
        headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(asAdmin && credentials),
      },
      (response) => {
        text(response).then(
          (received) =>
            resolve({
              code: response.statusCode ?? 0,
              headers: response.headers,
              text: received,
            }),
          reject,
        );
      },
    );
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The headers of a request of the console's pages. */
const pageHeaders = (cookie?: string): Readonly<Record<string, string>> => ({
  origin: new URL(cluster.url!).origin,
  'sec-fetch-site': 'same-origin',
  'x-coxswain-console': '1',
  ...(cookie !== undefined && { cookie: `${COOKIE}=${cookie}` }),
});

function cookieOf({ headers, code, text: body }: Answer, name: string): string {
  const all = String(headers['set-cookie']);
  const value = new RegExp(`${name}=([^;]+);`).exec(all)?.[1];
  if (value === undefined) throw new Error(`${code} sets no cookie ${name}: ${all} ${body}`);
  return value;
}

const REVIEW = {
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'SelfSubjectReview',
};
const REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

function userIn({ text: body }: Answer): unknown {
  return (JSON.parse(body) as { readonly status?: { readonly userInfo?: unknown } }).status
    ?.userInfo;
}

test('all connections go to the worker', async () => {
  const { code, text: body } = await send('GET', '/metrics', { asAdmin: true });
  expect(code).toBe(200);
  expect(body).toContain('apiserver_request_total');
  expect(body).not.toContain('coxswain_api_server_workers');
});

test('a token of the provider is accepted, and one of another client is not', async () => {
  const review = async (token: string): Promise<Answer> =>
    send('POST', REVIEWS, { headers: { authorization: `Bearer ${token}` }, body: REVIEW });
  const accepted = await review(await issuer.token());
  expect(accepted.code).toBe(201);
  expect(userIn(accepted)).toMatchObject({
    username: 'jane',
    groups: ['developers', 'system:authenticated'],
  });
  expect((await review(await issuer.token({ aud: 'another' }))).code).toBe(401);
});

test('a user signs in to the console at the provider, and out again', async () => {
  // A browser follows the links: without the header of the page.
  const begun = await send('GET', '/console/oidc/login?route=%2Flist%2Fpods');
  expect(begun.code).toBe(303);
  const back = new URL(issuer.approve(String(begun.headers.location)));
  expect(back.host).toBe(new URL(cluster.url!).host);
  const [, oidcCookie = ''] = /^([^;]+);/.exec(String(begun.headers['set-cookie'])) ?? [];
  const returned = await send('GET', `${back.pathname}${back.search}`, {
    headers: { cookie: oidcCookie },
  });
  expect(returned.headers.location).toBe('/console/#/list/pods');
  const cookie = cookieOf(returned, COOKIE);
  const session = await send('GET', '/console/session', { headers: pageHeaders(cookie) });
  expect(JSON.parse(session.text)).toMatchObject({ user: 'jane' });

  // Requests of the API with the session are the user's, who may not read pods.
  const review = await send('POST', REVIEWS, { headers: pageHeaders(cookie), body: REVIEW });
  expect(userIn(review)).toMatchObject({ username: 'jane' });
  expect((await send('GET', POD, { headers: pageHeaders(cookie) })).code).toBe(403);

  const out = await send('DELETE', '/console/session', { headers: pageHeaders(cookie) });
  expect(out.code).toBeLessThan(300);
  const after = await send('POST', REVIEWS, { headers: pageHeaders(cookie), body: REVIEW });
  expect(after.code).toBe(401);
});

test('a code of the administrator makes a session, once', async () => {
  const made = await send('POST', '/console/codes', { asAdmin: true, body: {} });
  expect(made.code).toBe(201);
  const { code } = JSON.parse(made.text) as { readonly code: string };
  const redeem = (): Promise<Answer> =>
    send('POST', '/console/session', { headers: pageHeaders(), body: { code } });
  const cookie = cookieOf(await redeem(), COOKIE);
  const pod = await send('GET', POD, { headers: pageHeaders(cookie) });
  expect(JSON.parse(pod.text)).toMatchObject({ metadata: { name: 'web' } });
  expect((await redeem()).code).toBe(401);
  // A page of another origin is not the user's.
  const foreign = { ...pageHeaders(cookie), origin: 'https://elsewhere.example' };
  expect((await send('DELETE', POD, { headers: foreign })).code).toBe(401);
});

/** Returns the code of a response to a request of the page on a connection of HTTP/2. */
async function codeOn(session: ClientHttp2Session, path: string, cookie?: string): Promise<number> {
  const stream = session.request({ ':path': path, ...pageHeaders(cookie) });
  const code = new Promise<number>((resolve) =>
    stream.once('response', (headers) => resolve(Number(headers[':status']))),
  );
  stream.resume();
  await finished(stream);
  return code;
}

test('the connection of a page stays open without a session, other rejected ones are closed', async () => {
  const session = connect(cluster.url!, { ca: pki.caCertificate });
  const closed = new Promise<void>((resolve) => session.once('close', resolve));
  expect(await codeOn(session, '/console/session')).toBe(401);
  expect(await codeOn(session, '/console/nothing')).toBe(404);
  expect(session.closed).toBe(false);
  expect(await codeOn(session, POD, 'unknown')).toBe(401);
  await closed;
});

const target = (subresource: string) => ({
  url: new URL(`${POD}/${subresource}`, cluster.url),
  connection: { ca: pki.caCertificate, agent: false as const, ...credentials },
  clock,
});

test.each([
  ['WebSocket', execOverWebSocket],
  ['SPDY', execOverSpdy],
] as const)('a command reads its input and has an exit code, over %s', async (_, exec) => {
  const command = ['sh', '-c', 'cat; exit 3'].map((part) => `command=${encodeURIComponent(part)}`);
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const output = text(stdout);
  const { exitCode } = await exec(
    target(`exec?stdin=true&stdout=true&stderr=true&${command.join('&')}`),
    { stdin: Readable.from([Buffer.from('through two processes\n')]), stdout, stderr },
  );
  expect(exitCode).toBe(3);
  expect(await output).toBe('through two processes\n');
});

test('logs are read and followed', async () => {
  const read = await send('GET', `${POD}/log`, { asAdmin: true });
  expect(read).toMatchObject({ code: 200, text: 'hello\n' });
  const first = await new Promise<string>((resolve, reject) => {
    const request = httpsRequest(
      new URL(`${POD}/log?follow=true`, cluster.url),
      { ca: pki.caCertificate, agent: false, ...credentials },
      (response) =>
        response.once('data', (chunk: Buffer) => {
          resolve(chunk.toString());
          request.destroy();
        }),
    );
    request.on('error', reject);
    request.end();
  });
  expect(first).toBe('hello\n');
});

test('connections to a port of a pod carry bytes both ways', async () => {
  const forwarder = await portForwardOverSpdy(target('portforward'));
  const echo = async (sent: string): Promise<string> => {
    const [near, far] = duplexPair();
    const done = forwarder.forward(8080, far);
    near.end(sent);
    const received = await text(near);
    await done;
    return received;
  };
  const long = 'x'.repeat(300_000);
  expect(await Promise.all([echo('one'), echo(long)])).toEqual(['one', long]);
  forwarder.close();
  await forwarder.closed;
});
