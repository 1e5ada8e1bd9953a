// AuthenticationConfigurations, valid and not. The messages are upstream's.

import { expect, test } from 'vitest';

import { SIGNING_ALGORITHMS } from '../oidc/settings.ts';
import { readAuthenticationConfiguration } from './read.ts';

const OWN = ['https://kubernetes.default.svc.cluster.local'];
const JWT = {
  issuer: { url: 'https://i.example', audiences: ['a'] },
  claimMappings: { username: { claim: 'sub', prefix: '' } },
};

const fileWith = (fields: object): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    ...fields,
  });
const jwt = (...changes: readonly object[]): string =>
  fileWith({ jwt: changes.map((change) => ({ ...JWT, ...change })) });
const issuer = (change: object): string => jwt({ issuer: { ...JWT.issuer, ...change } });
const mappings = (change: object): string =>
  jwt({ claimMappings: { ...JWT.claimMappings, ...change } });

test('a file with everything', () => {
  const text = `
apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: https://i.example
    discoveryURL: https://elsewhere.example/.well-known/openid-configuration
    audiences: [a, b]
    audienceMatchPolicy: MatchAny
  claimValidationRules:
  - { claim: hd, requiredValue: example.com }
  - { expression: 'claims.level > 1', message: too low }
  claimMappings:
    username: { expression: 'claims.sub' }
    groups: { claim: groups, prefix: 'oidc:' }
    uid: { claim: id }
    extra: [{ key: example.com/team, valueExpression: claims.team }]
  userValidationRules:
  - { expression: "!user.username.startsWith('system:')" }
anonymous:
  enabled: true
  conditions: [{ path: /livez }]
`;
  expect(readAuthenticationConfiguration(text, OWN)).toEqual({
    jwt: [
      {
        issuer: 'https://i.example',
        discoveryUrl: 'https://elsewhere.example/.well-known/openid-configuration',
        audiences: ['a', 'b'],
        signingAlgorithms: SIGNING_ALGORITHMS,
        username: { expression: 'claims.sub' },
        groups: { claim: 'groups', prefix: 'oidc:' },
        uid: { claim: 'id', prefix: '' },
        extra: [{ key: 'example.com/team', expression: 'claims.team' }],
        requiredClaims: { hd: 'example.com' },
        claimRules: [{ expression: 'claims.level > 1', message: 'too low' }],
        userRules: [{ expression: "!user.username.startsWith('system:')", message: '' }],
      },
    ],
    anonymous: { enabled: true, paths: ['/livez'] },
  });
  expect(readAuthenticationConfiguration(fileWith({}), OWN)).toEqual({ jwt: [] });
});

const BOTH = "claim and expression can't both be set";

test.each<[string, string]>([
  ['', 'empty config data'],
  ['{}', "Object 'Kind' is missing in '{}'"],
  [fileWith({ x: 1 }), 'strict decoding error: unknown field "x"'],
  [
    fileWith({ anonymous: { enabled: false, conditions: [{ path: '/x' }] } }),
    'anonymous.conditions: Invalid value: [{"Path":"/x"}]: enabled should be set to true when conditions are defined',
  ],
  [issuer({ url: '' }), 'jwt[0].issuer.url: Required value'],
  [
    issuer({ url: 'http://i.example' }),
    'jwt[0].issuer.url: Invalid value: "http://i.example": URL scheme must be https',
  ],
  [issuer({ url: 'i' }), 'jwt[0].issuer.url: Invalid value: "i": URL scheme must be https'],
  [
    issuer({ url: 'https://u:p@i?a=b' }),
    '[jwt[0].issuer.url: Invalid value: "https://u:p@i?a=b": URL must not contain a username or password, ' +
      'jwt[0].issuer.url: Invalid value: "https://u:p@i?a=b": URL must not contain a query]',
  ],
  [
    issuer({ url: OWN[0] }),
    `jwt[0].issuer.url: Invalid value: "${OWN[0]}": URL must not overlap with disallowed issuers: [${OWN[0]}]`,
  ],
  [
    issuer({ discoveryURL: 'https://i.example/' }),
    'jwt[0].issuer.discoveryURL: Invalid value: "https://i.example/": discoveryURL must be different from URL',
  ],
  [jwt({}, {}), 'jwt[1].issuer.url: Duplicate value: "https://i.example"'],
  [
    issuer({ audiences: [] }),
    'jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required',
  ],
  [
    issuer({ audiences: ['a', 'b'] }),
    'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences',
  ],
  [
    issuer({ certificateAuthority: 'x' }),
    'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": ' +
      'data does not contain any valid RSA or ECDSA certificates',
  ],
  [
    jwt({ claimValidationRules: [{ claim: 'a', expression: 'true' }, { expression: '1' }] }),
    `[jwt[0].claimValidationRules[0]: Invalid value: "a": ${BOTH}, ` +
      'jwt[0].claimValidationRules[1].expression: Invalid value: "1": must evaluate to bool]',
  ],
  [
    mappings({ username: {} }),
    'jwt[0].claimMappings.username: Required value: claim or expression is required',
  ],
  [
    mappings({ groups: { claim: 'g' }, uid: { claim: 'a', expression: 'b' } }),
    '[jwt[0].claimMappings.groups.prefix: Required value: ' +
      'prefix is required when claim is set. It can be set to an empty string to disable prefixing, ' +
      `jwt[0].claimMappings.uid: Invalid value: "": ${BOTH}]`,
  ],
  [
    mappings({ username: { expression: 'claims.email' } }),
    'jwt[0].claimMappings.username.expression: Invalid value: "claims.email": ' +
      'claims.email_verified must be used in claimMappings.username.expression or ' +
      'claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in ' +
      'claimMappings.username.expression',
  ],
  [
    mappings({ extra: [{ key: 'x.k8s.io/a', valueExpression: 'claims.x' }] }),
    'jwt[0].claimMappings.extra[0].key: Invalid value: "x.k8s.io/a": ' +
      'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use',
  ],
  [
    jwt({ userValidationRules: [{ expression: 'user.username' }] }),
    'jwt[0].userValidationRules[0].expression: Invalid value: "user.username": must evaluate to bool',
  ],
])('%s', (text, message) => {
  const prefix = /^\[?(?:jwt|anonymous)/.test(message)
    ? 'invalid authentication configuration: '
    : '';
  expect(() => readAuthenticationConfiguration(text, OWN)).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', message: `${prefix}${message}` }),
  );
});
