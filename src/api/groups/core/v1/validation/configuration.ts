// Validation of ConfigMaps and Secrets.

import { deepEqual, semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import { describeJsonSyntaxError } from '#machinery/text/json-syntax.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { ConfigMap, Secret } from './types.ts';
import { immutable, invalidEach, WHOLE } from './common.ts';

const DATA = field.path('data');
/** The maximum number of bytes of a ConfigMap's or Secret's data. */
const MAX_DATA_SIZE = 1024 * 1024;
const FOR_EVER = 'field is immutable when `immutable` is set';

export function validateConfigMap(configMap: ConfigMap): FieldErrorList {
  const errors: FieldErrorList = [];
  let size = 0;
  for (const [key, value] of Object.entries(configMap.data ?? {})) {
    const problems = validation.isConfigMapKey(key);
    if (problems.length > 0) errors.push(...invalidEach(DATA.key(key), key, problems));
    if (configMap.binaryData !== undefined && Object.hasOwn(configMap.binaryData, key)) {
      errors.push(field.invalid(DATA.key(key), key, 'duplicate of key present in binaryData'));
    }
    size += Buffer.byteLength(value);
  }
  for (const [key, value] of Object.entries(configMap.binaryData ?? {})) {
    errors.push(
      ...invalidEach(field.path('binaryData').key(key), key, validation.isConfigMapKey(key)),
    );
    size += Buffer.byteLength(value, 'base64');
  }
  if (size > MAX_DATA_SIZE) errors.push(field.tooLong(WHOLE, '', MAX_DATA_SIZE));
  return errors;
}

export function validateConfigMapUpdate(configMap: ConfigMap, old: ConfigMap): FieldErrorList {
  const errors: FieldErrorList = [];
  if (old.immutable === true) {
    if (configMap.immutable !== true)
      errors.push(field.forbidden(field.path('immutable'), FOR_EVER));
    // Missing data has an empty map as default; missing binary data has none.
    if (!semanticEqual(configMap.data, old.data))
      errors.push(field.forbidden(field.path('data'), FOR_EVER));
    if (!deepEqual(configMap.binaryData, old.binaryData))
      errors.push(field.forbidden(field.path('binaryData'), FOR_EVER));
  }
  return [...errors, ...validateConfigMap(configMap)];
}

const ACCOUNT_NAME = 'kubernetes.io/service-account.name';

export function validateSecret(secret: Secret): FieldErrorList {
  const errors: FieldErrorList = [];
  const data = secret.data ?? {};
  let size = 0;
  for (const [key, value] of Object.entries(data)) {
    errors.push(...invalidEach(DATA.key(key), key, validation.isConfigMapKey(key)));
    size += Buffer.byteLength(value, 'base64');
  }
  if (size > MAX_DATA_SIZE) errors.push(field.tooLong(DATA, '', MAX_DATA_SIZE));
  const required = (...keys: readonly string[]): FieldErrorList =>
    keys.filter((key) => data[key] === undefined).map((key) => field.required(DATA.key(key)));
  switch (secret.type) {
    case 'kubernetes.io/service-account-token':
      if ((secret.metadata.annotations?.[ACCOUNT_NAME] ?? '') === '') {
        errors.push(field.required(field.path('metadata', 'annotations').key(ACCOUNT_NAME)));
      }
      break;
    case 'kubernetes.io/dockercfg':
      errors.push(...required('.dockercfg'), ...jsonObject(data, '.dockercfg'));
      break;
    case 'kubernetes.io/dockerconfigjson':
      errors.push(...required('.dockerconfigjson'), ...jsonObject(data, '.dockerconfigjson'));
      break;
    case 'kubernetes.io/basic-auth':
      // One of them suffices, and may be empty.
      if (data['username'] === undefined && data['password'] === undefined)
        errors.push(...required('username', 'password'));
      break;
    case 'kubernetes.io/ssh-auth':
      if ((data['ssh-privatekey'] ?? '') === '')
        errors.push(field.required(DATA.key('ssh-privatekey')));
      break;
    case 'kubernetes.io/tls':
      errors.push(...required('tls.crt', 'tls.key'));
  }
  return errors;
}

function jsonObject(data: Readonly<Record<string, string>>, key: string): FieldErrorList {
  const encoded = data[key];
  if (encoded === undefined) return [];
  const refuse = (why: string): FieldErrorList => [
    field.invalid(DATA.key(key), '<secret contents redacted>', why),
  ];
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  if (text.trim() === '') return refuse('unexpected end of JSON input');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message may contain a part of the secret; this one contains at most one
    // character.
    return refuse(describeJsonSyntaxError(text) ?? 'invalid JSON');
  }
  if (value === null || (typeof value === 'object' && !Array.isArray(value))) return [];
  const type = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  return refuse(`json: cannot unmarshal ${type} into Go value of type map[string]interface {}`);
}

export function validateSecretUpdate(secret: Secret, old: Secret): FieldErrorList {
  const errors = immutable(secret.type, old.type, field.path('type'), Object.is);
  if (old.immutable === true) {
    if (secret.immutable !== true) errors.push(field.forbidden(field.path('immutable'), FOR_EVER));
    if (!deepEqual(secret.data, old.data))
      errors.push(field.forbidden(field.path('data'), FOR_EVER));
  }
  return [...errors, ...validateSecret(secret)];
}
