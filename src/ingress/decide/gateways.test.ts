import { describe, expect, test } from 'vitest';
import { certificate } from '../testing/configurations.ts';
import { probe, statusText, World } from '../testing/world.ts';

const gateway = (spec: string, name = 'gw'): string => `
kind: Gateway
metadata: { name: ${name} }
spec:
  gatewayClassName: coxswain
  ${spec.replaceAll('\n', '\n  ')}
---`;
const HTTP = 'listeners: [{ name: http, port: 80, protocol: HTTP }]';
const route = (
  spec: string,
  { name = 'r', kind = 'HTTPRoute', namespace = 'default' } = {},
): string => `
kind: ${kind}
metadata: { name: ${name}, namespace: ${namespace} }
spec:
  parentRefs: [{ name: gw${namespace === 'default' ? '' : ', namespace: default'} }]
  ${spec.replaceAll('\n', '\n  ')}
---`;
const TO_WEB = 'rules: [{ backendRefs: [{ name: web, port: 80 }] }]';
const ACCEPTED = 'Accepted=True Accepted';
const RESOLVED = 'ResolvedRefs=True ResolvedRefs';

/** Returns the status of the objects whose line begins with `beginning`. */
const lineOf = (yaml: string, beginning: string, facts = {}): string =>
  statusText(new World(yaml).decide(facts))
    .split('\n')
    .filter((line) => line.trimStart().startsWith(beginning))
    .join('\n');

test('a Gateway with a route: its status, and the destination of requests', () => {
  const decision = new World(gateway(HTTP) + route(TO_WEB)).decide();
  expect(statusText(decision).replace('GRPCRoute: ', 'GRPCRoute:\n    ')).toMatchInlineSnapshot(`
    "Gateway gw 10.0.0.1: Accepted=True Accepted, Programmed=True Programmed
      http routes=1 kinds=HTTPRoute+GRPCRoute:
        Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=True Programmed
    HTTPRoute r at gw: Accepted=True Accepted, ResolvedRefs=True ResolvedRefs"
  `);
  expect(probe(decision, { path: '/a' })).toBe('HTTPRoute default/r → http:10.1.0.1:8080');
  expect(probe(decision, { at: '10.0.0.1:443' })).toBe('no route');
});

test('a Gateway of another class has no status and no server', () => {
  const decision = new World(
    gateway(HTTP).replace('gatewayClassName: coxswain', 'gatewayClassName: other') + route(TO_WEB),
  ).decide();
  expect(statusText(decision)).toBe('');
});

test('a class with parameters is not accepted, nor are its Gateways', () => {
  const yaml = `
kind: GatewayClass
metadata: { name: parameters }
spec: { controllerName: coxswain.io/gateway-controller, parametersRef: { kind: ConfigMap } }
---${gateway(HTTP).replace('gatewayClassName: coxswain', 'gatewayClassName: parameters')}`;
  const decision = new World(yaml).decide();
  expect(statusText(decision)).toBe('');
  const status = decision.statuses
    .find(({ object }) => object.metadata.name === 'parameters')
    ?.statusAt('now');
  expect(status).toMatchObject({
    conditions: [{ type: 'Accepted', status: 'False', reason: 'InvalidParameters' }],
  });
});

describe('listeners', () => {
  test.each([
    [
      'a protocol that is not supported',
      '{ name: l, port: 80, protocol: TCP }',
      'Accepted=False UnsupportedProtocol',
      'kinds=:',
    ],
    [
      'TLS that is passed through',
      '{ name: l, port: 443, protocol: HTTPS, tls: { mode: Passthrough } }',
      'Accepted=False UnsupportedValue',
    ],
    [
      'options of TLS',
      '{ name: l, port: 443, protocol: HTTPS, tls: { options: { a: b } } }',
      'Accepted=False UnsupportedValue',
    ],
    [
      'no certificate',
      '{ name: l, port: 443, protocol: HTTPS }',
      'ResolvedRefs=False InvalidCertificateRef',
      'Programmed=False Invalid',
    ],
    [
      'a certificate that is missing',
      '{ name: l, port: 443, protocol: HTTPS, tls: { certificateRefs: [{ name: none }] } }',
      'ResolvedRefs=False InvalidCertificateRef',
    ],
    [
      'a certificate of another kind',
      '{ name: l, port: 443, protocol: HTTPS, tls: { certificateRefs: [{ kind: ConfigMap, name: a }] } }',
      'ResolvedRefs=False InvalidCertificateRef',
    ],
    [
      'a certificate of another namespace',
      '{ name: l, port: 443, protocol: HTTPS, tls: { certificateRefs: [{ name: a, namespace: other }] } }',
      'ResolvedRefs=False RefNotPermitted',
    ],
    [
      'no kind that is supported',
      '{ name: l, port: 80, protocol: HTTP, allowedRoutes: { kinds: [{ kind: TCPRoute }] } }',
      'InvalidRouteKinds',
      'kinds=:',
    ],
    [
      'a kind that is supported among others',
      '{ name: l, port: 80, protocol: HTTP, allowedRoutes: { kinds: [{ kind: TCPRoute }, { kind: GRPCRoute }] } }',
      'ResolvedRefs=False InvalidRouteKinds',
      'kinds=GRPCRoute:',
      'Programmed=True',
    ],
    [
      'TLS at the port of Ingresses without',
      '{ name: l, port: 80, protocol: HTTPS }',
      'Conflicted=True ProtocolConflict',
    ],
  ])('%s', (_name, listener, ...parts) => {
    const line = lineOf(gateway(`listeners: [${listener}]`), 'l ');
    for (const part of parts) expect(line).toContain(part);
  });

  test('of one Gateway that contradict each other are all rejected', () => {
    const text = lineOf(
      gateway(`listeners:
- { name: l1, port: 8080, protocol: HTTP }
- { name: l2, port: 8080, protocol: HTTPS }
- { name: l3, port: 8081, protocol: HTTP, hostname: A.example }
- { name: l4, port: 8081, protocol: HTTP, hostname: a.example }
- { name: l5, port: 8081, protocol: HTTP, hostname: b.example }`),
      'l',
    );
    expect(text.match(/l\d|Conflicted=\w+ \w+/g)?.join(' ')).toBe(
      'l1 Conflicted=True ProtocolConflict l2 Conflicted=True ProtocolConflict l3 Conflicted=True HostnameConflict ' +
        'l4 Conflicted=True HostnameConflict l5 Conflicted=False NoConflicts',
    );
  });

  test('of several Gateways at one address: the older one keeps a hostname, others are merged', () => {
    const second = gateway(
      'listeners: [{ name: b, port: 80, protocol: HTTP }, { name: c, port: 80, protocol: HTTP, hostname: c.example }]',
      'gw2',
    );
    const yaml =
      gateway(HTTP) +
      second +
      route(TO_WEB) +
      route(TO_WEB, { name: 'r2' }).replace('name: gw ', 'name: gw2 ');
    expect(lineOf(yaml, 'b ')).toContain('Conflicted=True HostnameConflict');
    const decision = new World(yaml).decide();
    expect(probe(decision, { host: 'c.example' })).toContain('default/r2');
    expect(probe(decision, { host: 'a.example' })).toContain('default/r →');
    expect(lineOf(yaml, 'Gateway gw2')).toContain('Accepted=True ListenersNotValid');
  });

  test('at a port that cannot be opened', () => {
    const unavailable = new Map([['10.0.0.1:81', 'in use']]);
    const yaml = gateway('listeners: [{ name: l, port: 81, protocol: HTTP }]');
    expect(lineOf(yaml, 'l ', { unavailable })).toContain('Accepted=False PortUnavailable');
    // The listener stays in the configuration, so that the port is retried.
    expect(
      new World(yaml).decide({ unavailable }).configuration.servers.some(({ port }) => port === 81),
    ).toBe(true);
  });

  test('a port without a usable listener is not opened', () => {
    const yaml = gateway(
      'listeners: [{ name: l, port: 81, protocol: TCP }, { name: m, port: 82, protocol: HTTPS }]',
    );
    expect(new World(yaml).decide().configuration.servers.map(({ port }) => port)).toEqual([
      80, 443,
    ]);
  });

  test('a certificate of another namespace that a ReferenceGrant allows', async () => {
    const { cert, key } = await certificate('a.example');
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const reference = 'certificateRefs: [{ name: a, namespace: other }]';
    const yaml = `${gateway(`listeners: [{ name: l, port: 443, protocol: HTTPS, tls: { ${reference} } }]`)}
kind: Secret
metadata: { name: a, namespace: other }
type: kubernetes.io/tls
data: { tls.crt: ${base64(cert)}, tls.key: ${base64(key)} }
---
kind: ReferenceGrant
metadata: { name: g, namespace: other }
spec:
  from: [{ group: gateway.networking.k8s.io, kind: Gateway, namespace: default }]
  to: [{ group: '', kind: Secret, name: a }]
`;
    expect(lineOf(yaml, 'l ')).toContain('Programmed=True Programmed');
    const server = new World(yaml).decide().configuration.servers.find(({ port }) => port === 443);
    expect(server?.listeners[0]?.certificates[0]?.matches('a.example')).toBe(true);
    expect(lineOf(yaml.replace('name: a }]\n', 'name: b }]\n'), 'l ')).toContain('RefNotPermitted');
    expect(lineOf(yaml.replace(base64(key), base64('nonsense')), 'l ')).toContain(
      'InvalidCertificateRef',
    );
  });
});

describe('unsupported fields of a Gateway', () => {
  test.each([
    ['tls: { frontend: { default: {} } }'],
    ['infrastructure: { parametersRef: { group: a, kind: B, name: c } }'],
    ['allowedListeners: { namespaces: { from: All } }'],
  ])('%s', (spec) => {
    const yaml = gateway(`${HTTP}\n${spec}`);
    expect(lineOf(yaml, 'Gateway gw')).toContain(
      'Accepted=False InvalidParameters, Programmed=False Invalid',
    );
    expect(
      new World(yaml)
        .decide()
        .configuration.servers.every(({ listeners }) =>
          listeners.every(({ group }) => group === 'ingress'),
        ),
    ).toBe(true);
  });
});

describe('addresses', () => {
  const pool = { gatewayAddresses: ['10.9.0.1', '10.9.0.2'] };
  const named = (count: number): string =>
    Array.from({ length: count }, (_, i) => gateway(HTTP, `gw${i}`)).join('');

  test('of a pool are assigned once each', () => {
    expect(lineOf(named(3), 'Gateway', pool)).toBe(
      [
        'Gateway gw0 10.9.0.1: Accepted=True Accepted, Programmed=True Programmed',
        'Gateway gw1 10.9.0.2: Accepted=True Accepted, Programmed=True Programmed',
        'Gateway gw2 : Accepted=True Accepted, Programmed=False AddressNotAssigned',
      ].join('\n'),
    );
  });

  test('are kept', () => {
    const yaml =
      `${gateway(HTTP, 'gw0')}${gateway(HTTP, 'gw1')}`.replace(/---$/, '') +
      'status: { addresses: [{ value: 10.9.0.1 }] }';
    expect(lineOf(yaml, 'Gateway', pool)).toMatch(/gw0 10.9.0.2:[^]*gw1 10.9.0.1:/);
  });

  test('that are requested are assigned if possible', () => {
    const asking = (value: string, type = 'IPAddress'): string =>
      gateway(`${HTTP}\naddresses: [{ type: ${type}, value: ${value} }]`);
    expect(lineOf(asking('10.9.0.2'), 'Gateway', pool)).toContain(
      'gw 10.9.0.2: Accepted=True Accepted, Programmed=True',
    );
    expect(lineOf(asking('10.8.0.1'), 'Gateway', pool)).toContain(
      'Programmed=False AddressNotUsable',
    );
    expect(lineOf(asking('a.example', 'Hostname'), 'Gateway', pool)).toContain(
      'Accepted=False UnsupportedAddress',
    );
    expect(lineOf(asking("''"), 'Gateway', pool)).toContain('gw 10.9.0.1: Accepted=True');
  });
});

describe('routes', () => {
  test.each([
    [
      'a listener that does not exist',
      route(TO_WEB).replace('name: gw }', 'name: gw, sectionName: none }'),
      'Accepted=False NoMatchingParent',
    ],
    [
      'a port that no listener has',
      route(TO_WEB).replace('name: gw }', 'name: gw, port: 81 }'),
      'Accepted=False NoMatchingParent',
    ],
    [
      'another namespace',
      route(TO_WEB, { namespace: 'other' }),
      'Accepted=False NotAllowedByListeners',
    ],
    [
      'a hostname of no listener',
      route(`hostnames: [b.example]\n${TO_WEB}`),
      'Accepted=False NoMatchingListenerHostname',
    ],
    [
      'a filter that is not supported',
      route('rules: [{ filters: [{ type: CORS }] }]'),
      'Accepted=False UnsupportedValue',
    ],
    [
      'a regular expression that is none',
      route("rules: [{ matches: [{ path: { type: RegularExpression, value: '(' } }] }]"),
      'Accepted=False UnsupportedValue',
    ],
    ['retries', route('rules: [{ retry: { attempts: 1 } }]'), 'Accepted=False UnsupportedValue'],
    [
      'a timeout that is none',
      route('rules: [{ timeouts: { request: soon } }]'),
      'Accepted=False UnsupportedValue',
    ],
    [
      'a change of a header of the connection',
      route(
        `rules:
- filters: [{ type: RequestHeaderModifier, requestHeaderModifier: { remove: [Transfer-Encoding] } }]`,
      ),
      'Accepted=False UnsupportedValue',
    ],
    [
      'a back end of another kind',
      route('rules: [{ backendRefs: [{ kind: Other, name: web }] }]'),
      `${ACCEPTED}, ResolvedRefs=False InvalidKind`,
    ],
    [
      'a Service that is missing',
      route('rules: [{ backendRefs: [{ name: none, port: 80 }] }]'),
      `${ACCEPTED}, ResolvedRefs=False BackendNotFound`,
    ],
    [
      'a port that is missing',
      route('rules: [{ backendRefs: [{ name: web, port: 1 }] }]'),
      `${ACCEPTED}, ResolvedRefs=False BackendNotFound`,
    ],
    [
      'a back end with TLS',
      route('rules: [{ backendRefs: [{ name: web, port: 82 }] }]'),
      `${ACCEPTED}, ResolvedRefs=False UnsupportedProtocol`,
    ],
    [
      'a Service of another namespace',
      route('rules: [{ backendRefs: [{ name: web, namespace: other, port: 80 }] }]'),
      `${ACCEPTED}, ResolvedRefs=False RefNotPermitted`,
    ],
  ])('%s', (_name, yaml, conditions) => {
    const world =
      gateway('listeners: [{ name: http, port: 80, protocol: HTTP, hostname: a.example }]') + yaml;
    expect(lineOf(world, 'HTTPRoute r')).toContain(conditions);
    const served = probe(new World(world).decide(), { host: 'a.example' });
    expect(served).toBe(conditions.startsWith(ACCEPTED) ? 'HTTPRoute default/r → 500' : 'no route');
  });

  test('a Service of another namespace that a ReferenceGrant allows', () => {
    const grant = `
kind: ReferenceGrant
metadata: { name: g, namespace: other }
spec:
  from: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default }]
  to: [{ group: '', kind: Service }]
`;
    const yaml =
      gateway(HTTP) +
      route('rules: [{ backendRefs: [{ name: web, namespace: other, port: 80 }] }]') +
      grant;
    expect(lineOf(yaml, 'HTTPRoute')).toContain(`${ACCEPTED}, ${RESOLVED}`);
    expect(probe(new World(yaml).decide(), {})).toBe('HTTPRoute default/r → http:10.1.0.2:8080');
  });

  test.each([
    ['All', 'namespaces: { from: All }', true],
    [
      'a selector that matches',
      'namespaces: { from: Selector, selector: { matchLabels: { team: b } } }',
      true,
    ],
    [
      'a selector that does not',
      'namespaces: { from: Selector, selector: { matchLabels: { team: a } } }',
      false,
    ],
    ['None', 'namespaces: { from: None }', false],
  ])('routes of other namespaces: %s', (_name, allowed, expected) => {
    const yaml =
      gateway(
        `listeners: [{ name: http, port: 80, protocol: HTTP, allowedRoutes: { ${allowed} } }]`,
      ) + route(TO_WEB, { namespace: 'other' });
    expect(lineOf(yaml, 'HTTPRoute')).toContain(
      expected ? ACCEPTED : 'Accepted=False NotAllowedByListeners',
    );
    expect(lineOf(yaml, 'http ')).toContain(`routes=${Number(expected)}`);
  });

  test('statuses of other controllers are kept, and an own status without a parent is removed', () => {
    const parent = (controllerName: string): string =>
      `{ parentRef: { name: old }, controllerName: ${controllerName}, conditions: [] }`;
    const status = `status: { parents: [${parent('example.com/other')}, ${parent('coxswain.io/gateway-controller')}] }`;
    const yaml = gateway(HTTP) + route(TO_WEB).replace('---', status);
    expect(lineOf(yaml, 'HTTPRoute')).toBe(
      `HTTPRoute r at old: \nHTTPRoute r at gw: ${ACCEPTED}, ${RESOLVED}`,
    );
  });

  test('conditions keep the time of their last change', () => {
    const before = (type: string, value: string): string =>
      `{ type: ${type}, status: '${value}', lastTransitionTime: before }`;
    const conditions = [before('Accepted', 'True'), before('ResolvedRefs', 'False')].join(', ');
    const owner = 'parentRef: { name: gw }, controllerName: coxswain.io/gateway-controller';
    const status = `status: { parents: [{ ${owner}, conditions: [${conditions}] }] }`;
    const world = new World(gateway(HTTP) + route(TO_WEB).replace('---', status));
    const decided = world.decide().statuses.find(({ type }) => type.kind === 'HTTPRoute');
    expect(decided?.statusAt('now')).toMatchObject({
      parents: [
        {
          conditions: [
            { lastTransitionTime: 'before' },
            { lastTransitionTime: 'now', observedGeneration: 1 },
          ],
        },
      ],
    });
  });
});

describe('the route of a request', () => {
  const ruleFor = (match: string, weight: number): string =>
    `- { matches: [{ ${match} }], backendRefs: [{ name: web, port: 80, weight: ${weight} }] }`;
  const underA = 'path: { type: PathPrefix, value: /a }';
  const one = '{ name: x-one, value: a }';
  const rules = [
    'rules:',
    ruleFor(underA, 2),
    ruleFor('path: { type: PathPrefix, value: /a/b }', 3),
    ruleFor('path: { type: Exact, value: /a/b }', 4),
    ruleFor(`${underA}, method: POST`, 5),
    ruleFor(`${underA}, headers: [{ name: X-One, value: a }]`, 6),
    ruleFor(
      `${underA}, headers: [${one}, { name: x-two, type: RegularExpression, value: 'b+' }]`,
      7,
    ),
    ruleFor(`${underA}, queryParams: [{ name: q, value: c d }]`, 8),
    ruleFor("path: { type: RegularExpression, value: '/x/[0-9]+' }", 9),
  ].join('\n');
  test.each([
    ['/a', {}, 2],
    ['/a/', {}, 2],
    ['/ab', {}, undefined],
    ['/a/bc', {}, 2],
    ['/a/b', {}, 4],
    ['/a/b/', {}, 3],
    ['/a/b/c', { method: 'POST' }, 3],
    ['/a/c', { method: 'POST', headers: { 'x-one': 'a' } }, 5],
    ['/a', { headers: { 'x-one': 'a' } }, 6],
    ['/a', { headers: { 'x-one': 'a', 'x-two': 'bbb' } }, 7],
    ['/a', { headers: { 'x-one': 'a', 'x-two': 'abbb' } }, 6],
    ['/a?q=c+d', {}, 8],
    ['/a?q=c%20d&q=e', {}, 8],
    ['/a?q=e&q=c+d', {}, 2],
    ['/x/12', {}, 9],
    ['/x/12/3', {}, undefined],
  ])('%s %j', (path, more, weight) => {
    const decision = new World(gateway(HTTP) + route(rules)).decide();
    const expected =
      weight === undefined ? 'no route' : `HTTPRoute default/r → http:10.1.0.1:8080*${weight}`;
    expect(probe(decision, { path, ...more })).toBe(expected);
  });

  test('the more specific hostname, then the older route', () => {
    const yaml =
      gateway(HTTP) +
      route(TO_WEB, { name: 'any' }) +
      route(`hostnames: ['*.a.example']\n${TO_WEB}`, { name: 'wildcard' }) +
      route(`hostnames: [b.a.example]\n${TO_WEB}`, { name: 'exact' }) +
      route(`hostnames: [b.a.example]\n${TO_WEB}`, { name: 'younger' });
    const decision = new World(yaml).decide();
    const routeOf = (host: string): string => probe(decision, { host }).split(' ')[1] ?? '';
    expect(['b.a.example', 'c.a.example', 'd.c.a.example', 'a.example', ''].map(routeOf)).toEqual([
      'default/exact',
      'default/wildcard',
      'default/wildcard',
      'default/any',
      'default/any',
    ]);
  });

  test('listeners are isolated: the most specific one gets a request, even without a route for it', () => {
    const yaml =
      gateway(`listeners:
- { name: any, port: 80, protocol: HTTP }
- { name: one, port: 80, protocol: HTTP, hostname: a.example }`) +
      route(TO_WEB).replace('name: gw }', 'name: gw, sectionName: any }');
    const decision = new World(yaml).decide();
    expect(probe(decision, { host: 'a.example' })).toBe('no route');
    expect(probe(decision, { host: 'b.example' })).toContain('default/r');
  });

  test('methods of gRPC', () => {
    const grpc = (method: string): string =>
      `rules: [{ matches: [{ method: ${method} }], backendRefs: [{ name: web, port: 80 }] }]`;
    const served = (method: string, path: string): string =>
      probe(new World(gateway(HTTP) + route(grpc(method), { kind: 'GRPCRoute' })).decide(), {
        path,
        method: 'POST',
      });
    const found = 'GRPCRoute default/r → h2c:10.1.0.1:8080';
    expect(served('{ service: a.B, method: C }', '/a.B/C')).toBe(found);
    expect(served('{ service: a.B, method: C }', '/a.B/D')).toBe('no route');
    expect(served('{ service: a.B }', '/a.B/D')).toBe(found);
    expect(served('{ service: a.B }', '/a.BC/D')).toBe('no route');
    expect(served('{ method: D }', '/a.B/D')).toBe(found);
    expect(served('{ type: RegularExpression, service: "a|b", method: "D.*" }', '/b/Do')).toBe(
      found,
    );
    expect(served('{ type: RegularExpression, service: "a|b", method: "D.*" }', '/c/Do')).toBe(
      'no route',
    );
  });
});
