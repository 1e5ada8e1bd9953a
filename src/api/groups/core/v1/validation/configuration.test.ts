// Further valid and invalid config maps, secrets and namespaces, with the paths and types of the
// errors. kinds.test.ts contains the messages.

import { describe, expect, test } from 'vitest';

import type { FieldErrorList } from '#machinery/validation/field.ts';
import { manifest } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import * as validation from './index.ts';

const short = (errors: FieldErrorList): string[] =>
  errors.map(({ field, type }) => `${field} ${type.replace('FieldValue', '')}`);

const MAX = 1024 * 1024;
const KEY_MAX = 'a'.repeat(253);

describe('config maps', () => {
  const configMap = (yaml: string): core.ConfigMap =>
    manifest('core/v1.ConfigMap', `metadata: {name: m}\n${yaml}`);
  test.each<[what: string, yaml: string, ...errors: string[]]>([
    ['both kinds', 'data: {key: value}\nbinaryData: {bin: dmFsdWU=}'],
    ['nothing', ''],
    ['a key as long as can be', `data: {${KEY_MAX}: value}`],
    ['a key too long', `data: {${KEY_MAX}a: value}`, `data[${KEY_MAX}a] Invalid`],
    ['a binary key too long', `binaryData: {${KEY_MAX}a: eA==}`, `binaryData[${KEY_MAX}a] Invalid`],
    ['a hidden one', 'data: {.ab: value}'],
    ['a hidden binary one', 'binaryData: {.ab: eA==}'],
    ['no bytes of text', 'binaryData: {key: AP4A/w==}'],
    ...['a*b', '.', '..', '..a', '', 'a/b', 'a b', 'ä'].flatMap(
      (key): [what: string, yaml: string, ...errors: string[]][] => [
        [`not "${key}"`, `data: {"${key}": value}`, `data[${key}] Invalid`],
        [`not "${key}", binary`, `binaryData: {"${key}": eA==}`, `binaryData[${key}] Invalid`],
      ],
    ),
    ['a key in both', 'data: {key: a}\nbinaryData: {key: eA==}', 'data[key] Invalid'],
    ['as much as can be', `data: {key: ${'a'.repeat(MAX)}}`],
    ['too much', `data: {key: ${'a'.repeat(MAX + 1)}}`, '[] TooLong'],
    [
      'too much, binary',
      `binaryData: {key: ${Buffer.alloc(MAX + 1).toString('base64')}}`,
      '[] TooLong',
    ],
    ['too much together', `data: {a: ${'a'.repeat(MAX)}}\nbinaryData: {b: eA==}`, '[] TooLong'],
  ])('%s', (_what, yaml, ...errors) => {
    // Several messages about one key count as one error.
    expect([...new Set(short(validation.validateConfigMap(configMap(yaml))))]).toEqual(errors);
  });

  test.each<[what: string, old: string, now: string, ...errors: string[]]>([
    ['nothing', 'data: {a: b}', 'data: {a: b}'],
    ['from now on', 'data: {a: b}', 'data: {a: b}\nimmutable: true'],
    ['no longer', 'data: {a: b}\nimmutable: true', 'data: {a: b}', 'immutable Forbidden'],
    [
      'no longer, said',
      'data: {a: b}\nimmutable: true',
      'data: {a: b}\nimmutable: false',
      'immutable Forbidden',
    ],
    ['more', 'data: {a: b}', 'data: {a: b, c: d}'],
    [
      'more of what may not change',
      'data: {a: b}\nimmutable: true',
      'data: {a: b, c: d}\nimmutable: true',
      'data Forbidden',
    ],
    ['something else', 'data: {a: b}', 'data: {a: c}'],
    [
      'something else of what may not change',
      'data: {a: b}\nimmutable: true',
      'data: {a: c}\nimmutable: true',
      'data Forbidden',
    ],
    [
      'nothing of what may not change',
      'data: {a: b}\nimmutable: true',
      'data: {a: b}\nimmutable: true',
    ],
    ['an empty map for no data', 'immutable: true', 'immutable: true\ndata: {}'],
    [
      'an empty map for no binary data',
      'immutable: true',
      'immutable: true\nbinaryData: {}',
      'binaryData Forbidden',
    ],
    ['a bad key', 'data: {a: b}', 'data: {a: b, "a b": c}', 'data[a b] Invalid'],
  ])('changes: %s', (_what, old, now, ...errors) => {
    expect(short(validation.validateConfigMapUpdate(configMap(now), configMap(old)))).toEqual(
      errors,
    );
  });
});

describe('secrets', () => {
  const secret = (yaml: string): core.Secret =>
    manifest('core/v1.Secret', `metadata: {name: s}\n${yaml}`);
  const typed = (type: string, data: string): string =>
    `type: kubernetes.io/${type}\nstringData: {${data}}`;
  const AUTH = '\'{"https://index.docker.io/v1/": {"auth": "eA==", "email": "fake@example.com"}}\'';
  const AUTHS =
    '\'{"auths": {"https://index.docker.io/v1/": {"auth": "eA==", "email": "fake@example.com"}}}\'';
  test.each<[what: string, yaml: string, ...errors: string[]]>([
    ['one', 'data: {data-1: eA==}'],
    ['nothing', ''],
    ['a hidden one', 'data: {.key: eA==}'],
    ['a bad key', 'data: {"a*b": eA==}', 'data[a*b] Invalid'],
    ['here', 'data: {".": eA==}', 'data[.] Invalid'],
    ['above', 'data: {"..": eA==}', 'data[..] Invalid'],
    ['as much as can be', `stringData: {a: ${'a'.repeat(MAX)}}`],
    ['too much', `stringData: {a: ${'a'.repeat(MAX + 1)}}`, 'data TooLong'],
    ['too much together', `stringData: {a: ${'a'.repeat(MAX)}, b: x}`, 'data TooLong'],
    ['images', typed('dockercfg', `.dockercfg: ${AUTH}`)],
    ['images of nowhere', typed('dockercfg', 'a: b'), 'data[.dockercfg] Required'],
    ['images, empty', typed('dockercfg', '.dockercfg: ""'), 'data[.dockercfg] Invalid'],
    ['images, badly', typed('dockercfg', '.dockercfg: bad'), 'data[.dockercfg] Invalid'],
    ['images, new', typed('dockerconfigjson', `.dockerconfigjson: ${AUTHS}`)],
    [
      'images of nowhere, new',
      typed('dockerconfigjson', 'a: b'),
      'data[.dockerconfigjson] Required',
    ],
    [
      'images, empty, new',
      typed('dockerconfigjson', '.dockerconfigjson: ""'),
      'data[.dockerconfigjson] Invalid',
    ],
    [
      'images, badly, new',
      typed('dockerconfigjson', '.dockerconfigjson: bad'),
      'data[.dockerconfigjson] Invalid',
    ],
    ['a user', typed('basic-auth', 'username: me, password: hush')],
    ['a user without a password', typed('basic-auth', 'username: me')],
    ['a password without a user name', typed('basic-auth', 'password: hush')],
    ['neither', typed('basic-auth', 'a: b'), 'data[username] Required', 'data[password] Required'],
    ['a key', typed('ssh-auth', 'ssh-privatekey: foo-bar-baz')],
    ['no key', typed('ssh-auth', 'a: b'), 'data[ssh-privatekey] Required'],
    ['a certificate', typed('tls', 'tls.crt: public, tls.key: private')],
    ['a certificate without a key', typed('tls', 'tls.crt: public'), 'data[tls.key] Required'],
    ['a key without a certificate', typed('tls', 'tls.key: private'), 'data[tls.crt] Required'],
    ['neither of them', typed('tls', 'a: b'), 'data[tls.crt] Required', 'data[tls.key] Required'],
  ])('%s', (_what, yaml, ...errors) => {
    expect([...new Set(short(validation.validateSecret(secret(yaml))))]).toEqual(errors);
  });

  const NAME = 'metadata.annotations[kubernetes.io/service-account.name] Required';
  test.each<[what: string, metadata: string, ...errors: string[]]>([
    ['an account', '{annotations: {kubernetes.io/service-account.name: foo}}'],
    ['an empty account', '{annotations: {kubernetes.io/service-account.name: ""}}', NAME],
    ['no annotation', '{annotations: {}}', NAME],
    ['no annotations', '{}', NAME],
  ])('a token with %s', (_what, metadata, ...errors) => {
    const given = manifest<core.Secret>(
      'core/v1.Secret',
      `metadata: ${metadata}\ntype: kubernetes.io/service-account-token`,
    );
    expect(short(validation.validateSecret(given))).toEqual(errors);
  });

  test.each<[what: string, old: string, now: string, ...errors: string[]]>([
    ['nothing', 'data: {a: eA==}', 'data: {a: eA==}'],
    ['from now on', 'data: {a: eA==}', 'data: {a: eA==}\nimmutable: true'],
    ['no longer', 'data: {a: eA==}\nimmutable: true', 'data: {a: eA==}', 'immutable Forbidden'],
    [
      'no longer, said',
      'data: {a: eA==}\nimmutable: true',
      'data: {a: eA==}\nimmutable: false',
      'immutable Forbidden',
    ],
    ['more', 'data: {a: eA==}', 'data: {a: eA==, b: eA==}'],
    [
      'more of what may not change',
      'data: {a: eA==}\nimmutable: true',
      'data: {a: eA==, b: eA==}\nimmutable: true',
      'data Forbidden',
    ],
    ['something else', 'data: {a: eA==}', 'data: {a: eQ==}'],
    [
      'something else of what may not change',
      'data: {a: eA==}\nimmutable: true',
      'data: {a: eQ==}\nimmutable: true',
      'data Forbidden',
    ],
    ['an empty map for no data', 'immutable: true', 'immutable: true\ndata: {}', 'data Forbidden'],
    ['an empty map of texts', 'immutable: true', 'immutable: true\nstringData: {}'],
    ['the type', 'type: a', 'type: b', 'type Invalid'],
    ['no type any more', 'type: a', '', 'type Invalid'],
  ])('changes: %s', (_what, old, now, ...errors) => {
    expect(short(validation.validateSecretUpdate(secret(now), secret(old)))).toEqual(errors);
  });
});

describe('namespaces', () => {
  const namespace = (yaml: string): core.Namespace =>
    manifest('core/v1.Namespace', `metadata: {name: n-1}\n${yaml}`);
  test.each<[what: string, finalizers: string, ...errors: string[]]>([
    ['none', ''],
    ["Kubernetes' own", 'kubernetes'],
    ['of others', 'example.com/something, example.com/other'],
    ['without a domain', 'Foo', 'spec.finalizers Invalid'],
    ['empty', '"", foo.com/bar, what.com/bar', 'spec.finalizers Invalid'],
  ])('finalizers: %s', (_what, finalizers, ...errors) => {
    const given = namespace(`spec: {finalizers: [${finalizers}]}`);
    expect([...new Set(short(validation.validateNamespace(given)))]).toEqual(errors);
    const finalized = short(validation.validateNamespaceFinalizeUpdate(given));
    expect(finalized.length > 0).toBe(errors.length > 0);
  });
});
