import { describe, expect, test } from 'vitest';
import { certificate } from '../testing/configurations.ts';
import { probe, World } from '../testing/world.ts';
import { serviceConflicts } from './decide.ts';
import { problemText } from './problem.ts';

const backend = (name = 'web', port = 'number: 80'): string =>
  `backend: { service: { name: ${name}, port: { ${port} } } }`;
const ingress = (spec: string, { name = 'i', head = '' } = {}): string => `
kind: Ingress
metadata: { name: ${name}${head} }
spec:
  ingressClassName: coxswain
  ${spec.replaceAll('\n', '\n  ')}
status: { loadBalancer: {} }
---`;
const path = (value: string, pathType = 'Prefix', more = backend()): string =>
  `{ path: ${value}, pathType: ${pathType}, ${more} }`;
const rules = (...paths: string[]): string => `rules: [{ http: { paths: [${paths.join(', ')}] } }]`;
const FOUND = 'Ingress default/i → http:10.1.0.1:8080';

describe('classes', () => {
  const served = (yaml: string): boolean => probe(new World(yaml).decide(), {}) === FOUND;
  const plain = ingress(rules(path('/')));
  const withoutClass = plain.replace('ingressClassName: coxswain', '');

  test('by name, by the older annotation, which comes first, and none', () => {
    expect(served(plain)).toBe(true);
    expect(served(plain.replace('ingressClassName: coxswain', 'ingressClassName: other'))).toBe(
      false,
    );
    expect(served(withoutClass)).toBe(false);
    const annotated = (yaml: string, name: string): string =>
      yaml.replace('name: i', `name: i, annotations: { kubernetes.io/ingress.class: ${name} }`);
    expect(served(annotated(withoutClass, 'coxswain'))).toBe(true);
    expect(served(annotated(plain, 'nginx'))).toBe(false);
  });

  test('a class of another name with this controller counts', () => {
    const own =
      'kind: IngressClass\nmetadata: { name: mine }\nspec: { controller: coxswain.io/ingress-controller }\n---';
    expect(
      served(own + plain.replace('ingressClassName: coxswain', 'ingressClassName: mine')),
    ).toBe(true);
  });
});

test.each([
  ['Exact', '/foo', '/foo', true],
  ['Exact', '/foo', '/bar', false],
  ['Exact', '/foo', '/foo/', false],
  ['Exact', '/foo/', '/foo', false],
  ['Prefix', '/', '/any/path', true],
  ['Prefix', '/foo', '/foo/', true],
  ['Prefix', '/foo/', '/foo', true],
  ['Prefix', '/foo/', '/foo/', true],
  ['Prefix', '/aaa/bb', '/aaa/bbb', false],
  ['Prefix', '/aaa/bbb', '/aaa/bbb/ccc', true],
  ['Prefix', '/aaa/bbb', '/aaa/bbbxyz', false],
  ['ImplementationSpecific', '/foo', '/foo/bar', true],
])('the path %s %s and a request for %s: %s', (type, value, requested, expected) => {
  const decision = new World(ingress(rules(path(value, type)))).decide();
  expect(probe(decision, { path: requested })).toBe(expected ? FOUND : 'no route');
});

test('the longest path comes first, then the exact one, then the older Ingress', () => {
  const yaml =
    ingress(rules(path('/'), path('/a', 'Prefix', backend('web', 'name: grpc'))), { name: 'one' }) +
    ingress(rules(path('/a', 'Exact'), path('/a', 'Prefix')), { name: 'two' });
  const decision = new World(yaml).decide();
  expect(probe(decision, { path: '/b' })).toContain('default/one → http');
  expect(probe(decision, { path: '/a' })).toContain('default/two → http');
  expect(probe(decision, { path: '/a/b' })).toContain('default/one → h2c');
});

test('hosts: exact ones first, a wildcard matches one label, and paths without a host apply to all', () => {
  const host = (name: string, value: string): string =>
    `{ host: '${name}', http: { paths: [${path(value)}] } }`;
  const yaml =
    ingress(`rules: [${host('*.a.example', '/')}]`, { name: 'wildcard' }) +
    ingress(`rules: [${host('b.a.example', '/b')}]`, { name: 'exact' }) +
    ingress(rules(path('/all')), { name: 'all' });
  const decision = new World(yaml).decide();
  const served = (name: string, at: string): string =>
    probe(decision, { host: name, path: at }).split(' → ')[0] ?? '';
  expect(served('b.a.example', '/b')).toBe('Ingress default/exact');
  expect(served('c.a.example', '/b')).toBe('Ingress default/wildcard');
  expect(served('d.c.a.example', '/b')).toBe('no route');
  expect(served('d.c.a.example', '/all')).toBe('Ingress default/all');
  expect(served('other', '/all/x')).toBe('Ingress default/all');
});

test('the default backend comes after all rules', () => {
  const yaml =
    ingress(
      `defaultBackend: { service: { name: web, port: { name: grpc } } }\nrules: [{ host: a.example }]`,
      {
        name: 'default',
      },
    ) + ingress(rules(path('/')), { name: 'rule' });
  const decision = new World(yaml).decide();
  expect(probe(decision, { host: 'b.example' })).toContain('default/rule');
  expect(probe(decision, { host: 'a.example' })).toContain('default/default → h2c');
});

describe('unusable back ends are a 503 and a problem', () => {
  test.each([
    ['a Service that is missing', backend('none'), 'Service default/none not found'],
    [
      'a port that is missing',
      backend('web', 'name: none'),
      'Service default/web has no port none',
    ],
    [
      'a resource',
      'backend: { resource: { kind: Bucket, name: a } }',
      'back ends of the kind Bucket are not supported',
    ],
    [
      'TLS',
      backend('web', 'number: 82'),
      'the protocol https of Service default/web is not supported',
    ],
  ])('%s', (_name, target, problem) => {
    const decision = new World(ingress(rules(path('/', 'Prefix', target)))).decide();
    expect(probe(decision, {})).toBe('Ingress default/i → 503');
    expect(decision.problems.map(problemText)).toEqual([`Ingress default/i: ${problem}`]);
  });
});

test('endpoints: ready ones, else terminating ones that still serve; never addresses of this machine', () => {
  const slice = (...endpoints: string[]): string => `
kind: Service
metadata: { name: e }
spec: { ports: [{ port: 80 }] }
---
kind: EndpointSlice
metadata: { name: slice, labels: { kubernetes.io/service-name: e } }
addressType: IPv4
ports: [{ port: 8080 }]
endpoints: [${endpoints.join(', ')}]
---`;
  const served = (...endpoints: string[]): string =>
    probe(
      new World(slice(...endpoints) + ingress(rules(path('/', 'Prefix', backend('e'))))).decide(),
      {},
    ).split('http:')[1] ?? '';
  const leaving =
    '{ addresses: [10.2.0.9], conditions: { ready: false, serving: true, terminating: true } }';
  expect(served('{ addresses: [10.2.0.1], conditions: {} }', leaving)).toBe('10.2.0.1:8080');
  expect(served(leaving, '{ addresses: [10.2.0.8], conditions: { ready: false } }')).toBe(
    '10.2.0.9:8080',
  );
  expect(
    served(
      '{ addresses: [127.0.0.1] }',
      '{ addresses: [169.254.169.254] }',
      '{ addresses: ["::ffff:127.0.0.1"] }',
    ),
  ).toBe('');
});

describe('TLS', () => {
  const secret = async (name: string, ...names: string[]): Promise<string> => {
    const { cert, key } = await certificate(...names);
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    return `
kind: Secret
metadata: { name: ${name} }
type: kubernetes.io/tls
data: { tls.crt: ${base64(cert)}, tls.key: ${base64(key)} }
---`;
  };

  test('each host has the certificate of its entry; others have none', async () => {
    const host = (name: string): string => `{ host: '${name}', http: { paths: [${path('/')}] } }`;
    const yaml =
      (await secret('a', 'a.example')) +
      (await secret('w', '*.w.example')) +
      ingress(`tls: [{ hosts: [a.example], secretName: a }, { hosts: ['*.w.example'], secretName: w }]
rules: [${host('a.example')}, ${host('b.w.example')}, ${host('c.example')}]`);
    const decision = new World(yaml).decide();
    const server = decision.configuration.servers.find(({ tls }) => tls);
    const named = Object.fromEntries(
      (server?.listeners ?? []).map(({ hostname, certificates }) => [
        hostname,
        ['a.example', 'x.w.example']
          .filter((name) => certificates.some((each) => each.matches(name)))
          .join(),
      ]),
    );
    expect(named).toEqual({
      '': '',
      'a.example': 'a.example',
      'b.w.example': 'x.w.example',
      '*.w.example': 'x.w.example',
    });
    expect(probe(decision, { at: '10.0.0.1:443', host: 'a.example' })).toContain('default/i');
  });

  test('an unusable Secret is a problem, whose text contains nothing of the Secret', async () => {
    const yaml = (await secret('a', 'a.example')).replace(
      /tls.key: \S+ /,
      `tls.key: ${Buffer.from('secret-text').toString('base64')} `,
    );
    const decision = new World(
      yaml +
        ingress(
          `tls: [{ secretName: a }, { secretName: none }, { hosts: [b] }]\n${rules(path('/'))}`,
        ),
    ).decide();
    const problems = decision.problems.map(problemText);
    expect(problems).toHaveLength(3);
    expect(problems[0]).toMatch(
      /^Ingress default\/i: Secret default\/a: its certificate and key cannot be used/,
    );
    expect(problems[1]).toBe('Ingress default/i: Secret default/none: it does not exist');
    expect(problems[2]).toBe('Ingress default/i: tls without a secretName has no certificate');
    expect(problems.join()).not.toContain('secret-text');
  });
});

test('a Service with a load balancer address at a port of the ingress is a problem', () => {
  const yaml = `
kind: Service
metadata: { name: lb }
spec: { type: LoadBalancer, ports: [{ port: 443 }, { port: 5432 }] }
status: { loadBalancer: { ingress: [{ ip: 10.0.0.1 }] } }
---
kind: Service
metadata: { name: elsewhere }
spec: { ports: [{ port: 80 }], externalIPs: [10.0.0.2] }
status: {}
`;
  const world = new World(yaml);
  const services = ['lb', 'elsewhere'].map(
    (name) => world.service('default', name) as NonNullable<ReturnType<World['service']>>,
  );
  const problems = serviceConflicts(services, world.decide().configuration).map(problemText);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain('Service default/lb: port 443 of 10.0.0.1');
});
