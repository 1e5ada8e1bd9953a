// Tests `cox up --ingress` with kubectl: Ingresses with and without TLS, changed certificates, and
// a rolling update under load.

import { Agent, createServer, get as httpGet, type Server } from 'node:http';
import { get as httpsGet } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCertificate } from '#client/testing/certificate.ts';
import {
  coxArgs,
  coxUp,
  eventually,
  type Kubectl,
  missingKubectl,
  named,
  run,
  type RunningCluster,
  splitWords,
  temporaryDir,
} from './harness.ts';

const ADDRESS = '127.203.9.1';
const HTTP = 23_980;
const HTTPS = 23_943;
const PORTS = { blue: 23_981, green: 23_982, api: 23_983 };
const FLAGS = splitWords(
  `--runtime process --store memory --ingress --ingress-address ${ADDRESS}
  --ingress-http-port ${HTTP} --ingress-https-port ${HTTPS}`,
);

/**
 * Returns a server that finishes its requests at SIGTERM. Pods are processes of one machine, so
 * each version has a port of its own.
 */
const program = (text: string, port: number): string => `
const answer = (request, response) => setTimeout(() => response.end('${text} ' + request.url), 5);
const server = require('node:http').createServer(answer);
server.listen(${port});
process.on('SIGTERM', () => { server.close(() => process.exit()); server.closeIdleConnections(); });`;

const deployment = (name: string, text: string, port: number): string => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name} }
spec:
  replicas: 1
  strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      terminationGracePeriodSeconds: 10
      containers:
        - name: web
          image: none
          command: [${JSON.stringify(process.execPath)}, -e, ${JSON.stringify(program(text, port))}]
          ports: [{ name: http, containerPort: ${port} }]
          readinessProbe: { tcpSocket: { port: http }, periodSeconds: 1 }
          # The pod serves on while its end reaches the proxy.
          lifecycle: { preStop: { sleep: { seconds: 1 } } }
---
apiVersion: v1
kind: Service
metadata: { name: ${name} }
spec: { selector: { app: ${name} }, ports: [{ name: web, port: 80, targetPort: http }] }
`;

const ingress = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web }
spec:
  tls: [{ hosts: [web.example], secretName: web-tls }]
  rules:
    - host: web.example
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: web, port: { name: web } } } }
          - { path: /api, pathType: Prefix, backend: { service: { name: api, port: { number: 80 } } } }
          - { path: /api/exact, pathType: Exact, backend: { service: { name: web, port: { number: 80 } } } }
          - { path: /missing, pathType: Prefix, backend: { service: { name: missing, port: { number: 80 } } } }
    - host: '*.wild.example'
      http:
        paths:
          - path: /
            pathType: ImplementationSpecific
            backend: { service: { name: api, port: { number: 80 } } }
`;

describe.skipIf(missingKubectl !== undefined)(named('ingress', missingKubectl), () => {
  let dir: ReturnType<typeof temporaryDir>;
  let cluster: RunningCluster;
  let kubectl: Kubectl;
  const apply = (yaml: string) => kubectl.run('apply -f -', { input: yaml });
  const fetch = (host: string, path: string, agent: Agent | false = false): Promise<string> =>
    new Promise((resolve, reject) => {
      const request = httpGet(
        { host: ADDRESS, port: HTTP, path, headers: { host }, agent, timeout: 10_000 },
        (response) => {
          let text = '';
          response.on('data', (chunk: Buffer) => (text += chunk.toString()));
          response.on('error', reject);
          response.on('end', () => resolve(`${response.statusCode} ${text.trim()}`));
        },
      );
      request.on('error', reject);
      request.on('timeout', () => request.destroy(new Error('timeout')));
    });
  const fetchEncrypted = (servername: string, ca: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = { host: servername };
      httpsGet(
        { host: ADDRESS, port: HTTPS, path: '/', headers, servername, ca, agent: false },
        (response) => {
          let text = '';
          response.on('data', (chunk: Buffer) => (text += chunk.toString()));
          response.on('end', () => resolve(`${response.statusCode} ${text.trim()}`));
        },
      ).on('error', reject);
    });
  const secret = async (cert: string, key: string): Promise<void> => {
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    await apply(`
apiVersion: v1
kind: Secret
metadata: { name: web-tls }
type: kubernetes.io/tls
data: { tls.crt: ${base64(cert)}, tls.key: ${base64(key)} }
`);
  };

  beforeAll(async () => {
    dir = temporaryDir();
    cluster = await coxUp(FLAGS, { dataDir: dir.path });
    kubectl = cluster.kubectl();
  });
  afterAll(async () => {
    await kubectl?.try('delete deployments,pods --all --timeout=60s');
    await cluster?.stop();
    dir?.remove();
  });

  test('the class exists, and is the default', async () => {
    const text = await kubectl.run(
      'get ingressclass coxswain -o jsonpath={.spec.controller}{.metadata.annotations}',
    );
    expect(text).toBe(
      'coxswain.io/ingress-controller{"ingressclass.kubernetes.io/is-default-class":"true"}',
    );
    expect(await fetch('web.example', '/')).toBe('404 no route');
  });

  test('hosts and paths lead to services, and the status has the address', async () => {
    await apply(deployment('web', 'blue', PORTS.blue));
    await apply(deployment('api', 'api', PORTS.api));
    await apply(ingress);
    for (const name of ['web', 'api'])
      await kubectl.run(`rollout status deployment ${name} --timeout=60s`);
    await eventually('an answer', async () => (await fetch('web.example', '/a')) === '200 blue /a');
    await eventually(
      'the other one',
      async () => (await fetch('web.example', '/api/a?b=c')) === '200 api /api/a?b=c',
    );
    expect(await fetch('web.example', '/api/exact')).toBe('200 blue /api/exact');
    expect(await fetch('web.example', '/apis')).toBe('200 blue /apis');
    expect(await fetch('a.wild.example', '/')).toBe('200 api /');
    expect(await fetch('a.b.wild.example', '/')).toBe('404 no route');
    expect(await fetch('other.example', '/')).toBe('404 no route');
    expect(await fetch('web.example', '/missing')).toBe('503 no back end');
    const columns = (await kubectl.run('get ingress web --no-headers')).split(/\s+/);
    expect(columns.slice(1, 4)).toEqual(['coxswain', 'web.example,*.wild.example', ADDRESS]);
  });

  test('TLS with the certificate of a Secret, which may come later and change', async () => {
    const first = await makeCertificate(['web.example']);
    await expect(fetchEncrypted('web.example', first.cert)).rejects.toThrow();
    await secret(first.cert, first.key);
    await eventually(
      'an answer',
      async () => (await fetchEncrypted('web.example', first.cert)) === '200 blue /',
    );
    const second = await makeCertificate(['web.example']);
    await secret(second.cert, second.key);
    await eventually(
      'the new certificate',
      async () => (await fetchEncrypted('web.example', second.cert)) === '200 blue /',
    );
    await expect(fetchEncrypted('unknown.example', second.cert)).rejects.toThrow();
  });

  test('a rolling update under load: no request fails', async () => {
    const agent = new Agent({ keepAlive: true });
    const failures: string[] = [];
    const seen = new Set<string>();
    let requests = 0;
    const stop = new AbortController();
    const client = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        const answer = await fetch('web.example', '/', agent).catch((error: unknown) =>
          String(error),
        );
        requests++;
        seen.add(answer);
        if (!answer.startsWith('200 ')) failures.push(answer);
      }
    };
    const clients = Array.from({ length: 16 }, client);
    await apply(deployment('web', 'green', PORTS.green));
    await kubectl.run('rollout status deployment web --timeout=90s');
    await eventually(
      'only new pods',
      async () =>
        (await kubectl.run('get pods -l app=web -o name')).trim().split('\n').length === 1,
    );
    stop.abort();
    await Promise.all(clients);
    agent.destroy();
    expect(failures).toEqual([]);
    expect([...seen].toSorted()).toEqual(['200 blue /', '200 green /']);
    expect(requests).toBeGreaterThan(100);
  });

  test('an Ingress of another class, and a deleted Ingress, are not served', async () => {
    await kubectl.run('delete ingress web');
    await eventually('no route', async () => (await fetch('web.example', '/')) === '404 no route');
    await apply(
      ingress
        .replace('spec:', 'spec:\n  ingressClassName: other')
        .replace('name: web', 'name: other'),
    );
    await expect.poll(() => fetch('web.example', '/')).toBe('404 no route');
    expect((await kubectl.run('get ingress other -o jsonpath={.status}')).trim()).toBe(
      '{"loadBalancer":{}}',
    );
  });

  test('metrics are those of the cluster', async () => {
    expect(await kubectl.run('get --raw /metrics')).toMatch(
      /coxswain_ingress_requests_total\{code="200",protocol="HTTP\/1.1"\} \d{3}/,
    );
  });
});

test('a port that is in use is an error that names a solution', async () => {
  const server: Server = createServer();
  const dir = temporaryDir();
  try {
    await new Promise<void>(
      (resolve) => void server.listen({ host: '127.0.0.1', port: 0 }, resolve),
    );
    const { port } = server.address() as AddressInfo;
    const flags = [
      '--runtime',
      'simulated',
      '--store',
      'memory',
      '--ingress',
      '--ingress-address',
      '127.0.0.1',
    ];
    const args = [
      ...coxArgs,
      'up',
      '--data-dir',
      dir.path,
      '--secure-port',
      '0',
      ...flags,
      '--ingress-http-port',
      String(port),
    ];
    const { status, stderr } = await run(process.execPath, args);
    expect(status).toBe(1);
    expect(stderr).toContain(
      `the ingress cannot have port ${port} of 127.0.0.1, which is in use: choose another with --ingress-http-port`,
    );
  } finally {
    server.close();
    dir.remove();
  }
});
