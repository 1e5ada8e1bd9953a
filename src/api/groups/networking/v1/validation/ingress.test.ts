// Errors of ingresses, their classes and their status.

import { describe, expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES, rows, variation } from '#api/testing/variation.ts';
import type * as networking from '../types.ts';
import * as validation from './index.ts';

const service = { name: 'defaultbackend', port: { number: 80 } };
const resource = { apiGroup: 'example.com', kind: 'foo', name: 'bar' };
const ingress = variation<networking.Ingress>('networking/v1.Ingress', {
  metadata: { name: 'foo', namespace: 'default' },
  spec: { defaultBackend: { service } },
});
const path = (change: object = {}): object => ({
  path: '/foo',
  pathType: 'ImplementationSpecific',
  backend: { service },
  ...change,
});
const rule = (change: object = {}, host = 'foo.bar.com'): object => ({
  host,
  http: { paths: [path(change)] },
});
const rules = (...list: readonly object[]): object => ({ spec: { rules: list } });
const tls = (...list: readonly object[]): object => ({ spec: { tls: list } });
const SUBDOMAIN = NAME_MESSAGES.subdomain;
const WILDCARD =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, " +
  'which must consist of lower case alphanumeric characters, ' +
  "'-' or '.' and end with an alphanumeric character (e.g. '*.example.com', " +
  'regex used for validation is ' +
  "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const AT = 'spec.rules[0].http.paths[0]';
const CLASS = 'kubernetes.io/ingress.class';

describe('ingresses', () => {
  test.each(
    rows<[change: object, errors: readonly string[]]>([
      [{}, []],
      [rules(rule()), []],
      [rules(rule({ path: '' })), []],
      [rules(rule({ path: '/([a-z0-9]*)' })), []],
      [rules(rule({ path: '/([a-z0-9]*)[' })), []],
      [rules({ host: 'foo.bar.com' }), []],
      [rules({}), []],
      [{ spec: { defaultBackend: { service: null, resource } } }, []],
      [rules(rule({ backend: { resource } })), []],
      [tls({ secretName: 'valid' }), []],
      [tls({}), []],
      [tls({ hosts: [] }), []],
      [
        {
          spec: {
            rules: [rule({ pathType: 'Exact' }, '*.foo.com')],
            tls: [{ hosts: ['*.bar.com'] }],
          },
        },
        [],
      ],
      [
        { spec: { defaultBackend: null } },
        ['spec: Invalid value: null: either `defaultBackend` or `rules` must be specified'],
      ],
      [
        { spec: { defaultBackend: { service: { name: '' } } } },
        ['spec.defaultBackend.service.name: Required value'],
      ],
      [{ spec: { defaultBackend: { service: { name: '1a' } } } }, []],
      [
        { spec: { defaultBackend: { service: { name: '-a' } } } },
        [`spec.defaultBackend.service.name: Invalid value: "-a": ${NAME_MESSAGES.label}`],
      ],
      [
        { spec: { defaultBackend: { service: { name: 'a.b' } } } },
        ['spec.defaultBackend.service.name: Invalid value: "a.b": must not contain dots'],
      ],
      [
        { spec: { defaultBackend: { service: null } } },
        ['spec.defaultBackend: Invalid value: "": resource or service backend is required'],
      ],
      [
        { spec: { defaultBackend: { resource } } },
        ['spec.defaultBackend: Invalid value: "": cannot set both resource and service backends'],
      ],
      [
        { spec: { defaultBackend: { service: { port: { name: 'http' } } } } },
        ['spec.defaultBackend: Invalid value: "": cannot set both port name & port number'],
      ],
      [
        { spec: { defaultBackend: { service: { port: { number: null } } } } },
        ['spec.defaultBackend: Required value: port name or number is required'],
      ],
      [
        { spec: { defaultBackend: { service: { port: { number: 65_536 } } } } },
        [
          'spec.defaultBackend.service.port.number: Invalid value: 65536: must be between 1 and 65535, inclusive',
        ],
      ],
      [
        { spec: { defaultBackend: { service: { port: { number: null, name: 'Http' } } } } },
        [
          expect.stringMatching(
            /^spec\.defaultBackend\.service\.port\.name: Invalid value: "Http": must contain only/,
          ),
        ],
      ],
      [
        rules(rule({ backend: { service, resource } })),
        [`${AT}.backend: Invalid value: "": cannot set both resource and service backends`],
      ],
      [
        rules(rule({ backend: { resource: { kind: '', name: '' } } })),
        [
          `${AT}.backend.resource.kind: Required value`,
          `${AT}.backend.resource.name: Required value`,
        ],
      ],
      [
        rules(rule({ backend: { resource: { apiGroup: '', kind: 'a/b', name: '..' } } })),
        [
          `${AT}.backend.resource.apiGroup: Invalid value: "": ${SUBDOMAIN}`,
          `${AT}.backend.resource.kind: Invalid value: "a/b": may not contain '/'`,
          `${AT}.backend.resource.name: Invalid value: "..": may not be '..'`,
        ],
      ],
      [
        rules(rule({ pathType: 'foo' })),
        [
          `${AT}.pathType: Unsupported value: "foo": supported values: "Exact", "ImplementationSpecific", "Prefix"`,
        ],
      ],
      [
        rules(rule({ pathType: null })),
        [`${AT}.pathType: Required value: pathType must be specified`],
      ],
      [rules({ http: { paths: [] } }), ['spec.rules[0].http.paths: Required value']],
      [
        rules(rule({}, 'foobar:80')),
        [`spec.rules[0].host: Invalid value: "foobar:80": ${SUBDOMAIN}`],
      ],
      [
        rules(rule({}, '127.0.0.1')),
        ['spec.rules[0].host: Invalid value: "127.0.0.1": must be a DNS name, not an IP address'],
      ],
      [
        rules(rule({}, '::1')),
        [
          'spec.rules[0].host: Invalid value: "::1": must be a DNS name, not an IP address',
          `spec.rules[0].host: Invalid value: "::1": ${SUBDOMAIN}`,
        ],
      ],
      [rules(rule({}, '*.bar.com')), []],
      [
        rules(rule({}, 'foo.*.bar.com')),
        [`spec.rules[0].host: Invalid value: "foo.*.bar.com": ${WILDCARD}`],
      ],
      [rules(rule({}, '*')), [`spec.rules[0].host: Invalid value: "*": ${WILDCARD}`]],
      [
        tls({ secretName: 'invalid name' }),
        [`spec.tls[0].secretName: Invalid value: "invalid name": ${SUBDOMAIN}`],
      ],
      [
        tls({ hosts: ['foo.*.bar.com'] }),
        [`spec.tls[0].hosts[0]: Invalid value: "foo.*.bar.com": ${WILDCARD}`],
      ],
      [tls({}, { hosts: ['a', 'A'] }), [`spec.tls[1].hosts[1]: Invalid value: "A": ${SUBDOMAIN}`]],
      [
        {
          spec: {
            rules: [rule({ pathType: 'Exact', path: 'foo' }, '*.foo.com')],
            tls: [{ hosts: ['*.bar.com'] }],
          },
        },
        [`${AT}.path: Invalid value: "foo": must be an absolute path`],
      ],
      [{ spec: { ingressClassName: 'bar' } }, []],
      [
        { spec: { ingressClassName: 'Bar' } },
        [`spec.ingressClassName: Invalid value: "Bar": ${SUBDOMAIN}`],
      ],
      [{ metadata: { annotations: { [CLASS]: 'foo' } } }, []],
      [{ metadata: { annotations: { [CLASS]: 'foo' } }, spec: { ingressClassName: 'foo' } }, []],
      [
        { metadata: { annotations: { [CLASS]: 'foo' } }, spec: { ingressClassName: 'bar' } },
        [
          `annotations.${CLASS}: Invalid value: "foo": must match \`ingressClassName\` when both are specified`,
        ],
      ],
    ]),
  )('%s', (_, change, errors) => {
    expect(messages(validation.validateNewIngress(ingress(change)))).toEqual(errors);
  });

  test.each<[pathType: string, path: string, problems: readonly string[]]>([
    ['ImplementationSpecific', 'foo', ['must be an absolute path']],
    ['ImplementationSpecific', '/foo', []],
    ['ImplementationSpecific', '/foo/bar/foo', []],
    ['ImplementationSpecific', '/foo//bar/foo', []],
    ['ImplementationSpecific', '/foo/../bar', []],
    ['Prefix', '', ['must be an absolute path']],
    ['Prefix', 'foo', ['must be an absolute path']],
    ['Prefix', '/foo', []],
    ['Prefix', '/foo/bar/foo', []],
    ['Prefix', '/foo//bar/foo', ["must not contain '//'"]],
    ['Exact', '', ['must be an absolute path']],
    ['Exact', 'foo', ['must be an absolute path']],
    ['Exact', '/foo', []],
    ['Exact', '/foo/bar/foo', []],
    ['Exact', '/foo//bar/foo', ["must not contain '//'"]],
    ['Prefix', '/foo/./foo', ["must not contain '/./'"]],
    ['Exact', '/foo/../foo', ["must not contain '/../'"]],
    ['Prefix', '/foo/%2f/foo', ["must not contain '%2f'"]],
    ['Exact', '/foo/%2F/foo', ["must not contain '%2F'"]],
    ['Prefix', '/foo/..', ["cannot end with '/..'"]],
    ['Exact', '/foo/.', ["cannot end with '/.'"]],
    [
      'Exact',
      'a//b/..',
      ['must be an absolute path', "must not contain '//'", "cannot end with '/..'"],
    ],
  ])('%s of %s', (pathType, text, problems) => {
    const found = messages(
      validation.validateNewIngress(ingress(rules(rule({ pathType, path: text })))),
    );
    expect(found).toEqual(
      problems.map((problem) => `${AT}.path: Invalid value: "${text}": ${problem}`),
    );
  });

  const wild = (text: string): object => ({
    spec: { rules: [rule({ pathType: 'Exact', path: text }, '*.foo.com')] },
  });
  test.each(
    rows<[now: object, old: object, errors: readonly string[]]>([
      [{ spec: { ingressClassName: 'bar' } }, {}, []],
      [{ metadata: { annotations: { [CLASS]: 'foo' } } }, {}, []],
      // A mismatch is an error on create only.
      [
        { metadata: { annotations: { [CLASS]: 'foo' } }, spec: { ingressClassName: 'bar' } },
        {},
        [],
      ],
      [rules(rule({ path: '/bar[' })), rules(rule({ path: '/foo[' })), []],
      [rules(rule({ path: '/([a-z0-9%]*)' })), rules(rule({ path: '/([a-z0-9]*)' })), []],
      [{ spec: { defaultBackend: { service: null, resource } } }, {}, []],
      [{}, { spec: { defaultBackend: { service: null, resource } } }, []],
      [rules(rule({ backend: { resource } })), rules(rule()), []],
      [rules(rule()), rules(rule({ backend: { resource } })), []],
      [
        rules(rule({ path: '/bar[', backend: { resource } })),
        rules(rule({ path: '/foo[', backend: { resource } })),
        [],
      ],
      [
        tls({ secretName: 'invalid name' }),
        tls({ secretName: 'valid' }),
        [`spec.tls[0].secretName: Invalid value: "invalid name": ${SUBDOMAIN}`],
      ],
      [tls({ secretName: 'invalid name 2' }), tls({ secretName: 'invalid name 1' }), []],
      [wild('foo'), wild('/foo'), [`${AT}.path: Invalid value: "foo": must be an absolute path`]],
      [wild('bar'), wild('foo'), []],
      // The path is not exempt for other hosts.
      [
        rules(rule({ pathType: 'Exact', path: 'bar' })),
        rules(rule({ pathType: 'Exact', path: 'foo' })),
        [`${AT}.path: Invalid value: "bar": must be an absolute path`],
      ],
    ]),
  )('update to %s', (_, now, old, errors) => {
    expect(messages(validation.validateIngressUpdate(ingress(now), ingress(old)))).toEqual(errors);
  });

  test.each(
    rows<[status: object, errors: readonly string[]]>([
      [{ ip: '127.0.0.2', hostname: 'foo.com' }, []],
      [{ ip: 'fd00::1' }, []],
      [{ hostname: 'foo.com', ports: [{ port: 80, protocol: 'TCP' }] }, []],
      [
        { ip: 'abcd', hostname: 'foo.com' },
        [
          'ip: Invalid value: "abcd": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        ],
      ],
      [
        { ip: '127.0.0.1', hostname: '127.0.0.1' },
        ['hostname: Invalid value: "127.0.0.1": must be a DNS name, not an IP address'],
      ],
      [{ ip: '1.2.3.04' }, ['ip: Invalid value: "1.2.3.04": must not have leading 0s']],
      [
        { ip: '::ffff:1.2.3.4' },
        ['ip: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address'],
      ],
      [{ hostname: 'Foo' }, [`hostname: Invalid value: "Foo": ${SUBDOMAIN}`]],
    ]),
  )('status %s', (_, entry, errors) => {
    const changed = ingress({ status: { loadBalancer: { ingress: [entry] } } });
    expect(messages(validation.validateIngressStatus(changed, ingress({})))).toEqual(
      errors.map((error) => `status.loadBalancer.ingress[0].${error}`),
    );
  });
});

describe('classes', () => {
  const classOf = variation<networking.IngressClass>('networking/v1.IngressClass', {
    metadata: { name: 'test123' },
    spec: { controller: 'foo.co/bar' },
  });
  const ingressClass = (spec: object): networking.IngressClass => classOf({ spec });
  const parameters = (change: object): object => ({
    parameters: { kind: 'foo', name: 'bar', ...change },
  });
  const PARAMETERS = 'spec.parameters';

  test.each(
    rows<[spec: object, errors: readonly string[]]>([
      [{}, []],
      [{ controller: '' }, ['spec.controller: Required value']],
      [{ controller: `foo.co/${'a'.repeat(243)}` }, []],
      [
        { controller: `foo.co/${'a'.repeat(244)}` },
        ['spec.controller: Too long: may not be more than 250 bytes'],
      ],
      [
        { controller: 'foo' },
        [
          'spec.controller: Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")',
        ],
      ],
      [{ controller: 'foo.co/a/b' }, []],
      [{ controller: 'Foo.co/a' }, [`spec.controller: Invalid value: "Foo.co": ${SUBDOMAIN}`]],
      [parameters({ apiGroup: 'example.com', scope: 'Cluster' }), []],
      [
        parameters({ apiGroup: '!', scope: 'Cluster' }),
        [`${PARAMETERS}.apiGroup: Invalid value: "!": ${SUBDOMAIN}`],
      ],
      [parameters({ kind: '', scope: 'Cluster' }), [`${PARAMETERS}.kind: Required value`]],
      [parameters({ name: '', scope: 'Cluster' }), [`${PARAMETERS}.name: Required value`]],
      [
        parameters({ kind: 'foo/', scope: 'Cluster' }),
        [`${PARAMETERS}.kind: Invalid value: "foo/": may not contain '/'`],
      ],
      [
        parameters({ name: 'a%', scope: 'Cluster' }),
        [`${PARAMETERS}.name: Invalid value: "a%": may not contain '%'`],
      ],
      [
        parameters({ scope: 'bad-scope' }),
        [
          `${PARAMETERS}.scope: Unsupported value: "bad-scope": supported values: "Cluster", "Namespace"`,
        ],
      ],
      [parameters({ scope: 'Namespace', namespace: 'foo-ns' }), []],
      [
        parameters({ scope: 'Namespace', namespace: 'foo_ns' }),
        [`${PARAMETERS}.namespace: Invalid value: "foo_ns": ${NAME_MESSAGES.label}`],
      ],
      [
        parameters({ scope: 'Namespace', namespace: '' }),
        [`${PARAMETERS}.namespace: Invalid value: "": ${NAME_MESSAGES.label}`],
      ],
      [
        parameters({ scope: 'Namespace' }),
        [`${PARAMETERS}.namespace: Required value: \`parameters.scope\` is set to 'Namespace'`],
      ],
      [
        parameters({ scope: 'Cluster', namespace: 'foo-ns' }),
        [`${PARAMETERS}.namespace: Forbidden: \`parameters.scope\` is set to 'Cluster'`],
      ],
      [
        parameters({ scope: 'Cluster', namespace: '' }),
        [`${PARAMETERS}.namespace: Forbidden: \`parameters.scope\` is set to 'Cluster'`],
      ],
    ]),
  )('%s', (_, spec, errors) => {
    expect(messages(validation.validateIngressClass(ingressClass(spec)))).toEqual(errors);
  });

  test('the scope is required if there is no default', () => {
    const given = ingressClass(parameters({ namespace: 'foo_ns' }));
    const bare: networking.IngressClass = {
      ...given,
      spec: {
        ...given.spec,
        parameters: { ...given.spec.parameters, kind: 'foo', name: 'bar', scope: null },
      },
    };
    expect(messages(validation.validateIngressClass(bare))).toEqual([
      `${PARAMETERS}.scope: Required value`,
    ]);
    expect(ingressClass(parameters({})).spec.parameters?.scope).toBe('Cluster');
  });

  test.each(
    rows<[now: object, old: object, errors: readonly string[]]>([
      [{}, {}, []],
      [
        {},
        { controller: 'foo.co/different' },
        ['spec.controller: Invalid value: "foo.co/bar": field is immutable'],
      ],
      [parameters({ apiGroup: 'v1', scope: 'Namespace', namespace: 'bar' }), {}, []],
      [
        { controller: '' },
        {},
        [
          'spec.controller: Invalid value: "": field is immutable',
          'spec.controller: Required value',
        ],
      ],
    ]),
  )('update to %s', (_, now, old, errors) => {
    expect(
      messages(validation.validateIngressClassUpdate(ingressClass(now), ingressClass(old))),
    ).toEqual(errors);
  });
});
