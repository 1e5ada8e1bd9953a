// Reads and validates an EncryptionConfiguration (apiserver.config.k8s.io/v1): which resources are
// encrypted, and with which keys.

import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';
import { fieldsOf, listOf } from './config-fields.ts';
import { type KmsConfiguration, readKms } from './kms/configuration.ts';

export interface EncryptionKey {
  readonly name: string;
  readonly secret: Uint8Array;
}

/** A provider whose keys are in the file. */
export type LocalProvider =
  | { readonly type: 'aesgcm' | 'aescbc' | 'secretbox'; readonly keys: readonly EncryptionKey[] }
  /** Values are stored unencrypted. */
  | { readonly type: 'identity' };

export type ProviderConfiguration = LocalProvider | ({ readonly type: 'kms' } & KmsConfiguration);

/**
 * A set of resources with its providers. The first provider encrypts, with its first key; every
 * provider decrypts.
 */
export interface ResourceConfiguration {
  readonly resources: readonly GroupResource[];
  readonly providers: readonly ProviderConfiguration[];
}

/** A resource; '*' means all resources of a group, or all groups. */
export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** Entries in order; the first entry that matches a resource applies. */
export type EncryptionConfiguration = readonly ResourceConfiguration[];

const VERSIONS: Readonly<Record<string, string>> = {
  EncryptionConfiguration: 'apiserver.config.k8s.io/v1',
  // The kind's name in early versions.
  EncryptionConfig: 'v1',
};
const AES_KEY_BYTES = [16, 24, 32];
const SECRETBOX_KEY_BYTES = [32];
const PROVIDERS = ['aesgcm', 'aescbc', 'secretbox', 'identity', 'kms'];
/** Objects in the store that are not resources of the API. */
const NOT_RESOURCES = ['apiserveripinfo', 'serviceipallocations', 'servicenodeportallocations'];
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Parses text such as 'secrets', 'deployments.apps', '*.apps', '*.' (all of the core group) or
 * '*.*'.
 */
function parseGroupResource(text: string): GroupResource {
  const dot = text.indexOf('.');
  return dot < 0
    ? { group: '', resource: text }
    : { group: text.slice(dot + 1), resource: text.slice(0, dot) };
}

/**
 * Reads the file's content, which is parsed YAML or JSON. Throws FieldErrorsError with every error.
 */
export function readEncryptionConfiguration(content: unknown): EncryptionConfiguration {
  const errors: FieldErrorList = [];
  const root = fieldsOf(
    content,
    new field.FieldPath(''),
    ['apiVersion', 'kind', 'resources'],
    errors,
  );
  if (root === undefined) throw new field.FieldErrorsError(errors);
  const kind = String(root['kind'] ?? '');
  const version = VERSIONS[kind];
  if (version === undefined)
    errors.push(field.notSupported(field.path('kind'), kind, ['EncryptionConfiguration']));
  else if (root['apiVersion'] !== version)
    errors.push(
      field.notSupported(field.path('apiVersion'), String(root['apiVersion'] ?? ''), [version]),
    );
  const path = field.path('resources');
  const configurations: ResourceConfiguration[] = [];
  const pluginNames = new Set<string>();
  const list = listOf(root['resources'], path, errors);
  if (list?.length === 0) errors.push(field.required(path, 'at least one resources is required'));
  for (const [i, item] of (list ?? []).entries()) {
    const at = path.index(i);
    const fields = fieldsOf(item, at, ['resources', 'providers'], errors);
    if (fields === undefined) continue;
    configurations.push({
      resources: readResources(fields['resources'], at.child('resources'), errors),
      providers: readProviders(fields['providers'], at.child('providers'), pluginNames, errors),
    });
  }
  if (errors.length > 0) throw new field.FieldErrorsError(errors);
  checkMasked(configurations);
  return configurations;
}

/** A later entry cannot add to the resources of a wildcard. Throws Error. */
function checkMasked(configurations: EncryptionConfiguration): void {
  const wildcards: GroupResource[] = [];
  const textOf = ({ group, resource }: GroupResource): string =>
    group === '' && resource !== '*' ? resource : `${resource}.${group}`;
  for (const { resources } of configurations) {
    for (const each of resources) {
      const masking = wildcards.find(({ group }) => group === '*' || group === each.group);
      if (masking !== undefined)
        throw new Error(
          `resource "${textOf(each)}" is masked by earlier rule "${textOf(masking)}"`,
        );
    }
    wildcards.push(...resources.filter(({ resource }) => resource === '*'));
  }
}

function readResources(value: unknown, path: FieldPath, errors: FieldErrorList): GroupResource[] {
  const names = listOf(value, path, errors);
  if (names?.length === 0)
    errors.push(field.required(path, `at least one ${path.toString()} is required`));
  const texts = (names ?? []).map(String);
  const resources = texts.map(parseGroupResource);
  if (new Set(texts).size < texts.length)
    errors.push(field.invalid(path, texts, 'the same resource cannot be specified multiple times'));
  if (resources.some((one, i) => resources.some((other, j) => i !== j && overlap(one, other)))) {
    const detail =
      "using overlapping resources such as 'secrets' and '*.' in the same resource list is not " +
      'allowed as they will be masked';
    errors.push(field.invalid(path, texts, detail));
  }
  for (const [i, text] of texts.entries()) {
    const problem = resourceProblem(text);
    if (problem !== undefined) errors.push(field.invalid(path.index(i), text, problem));
  }
  return resources;
}

/** Reports whether the first resource covers the second. Equal resources are a different error. */
function overlap(one: GroupResource, other: GroupResource): boolean {
  if (one.group === other.group && one.resource === other.resource) return false;
  if (one.group === '*' && one.resource === '*') return true;
  return one.group === other.group && one.resource === '*';
}

function resourceProblem(text: string): string | undefined {
  const { group, resource } = parseGroupResource(text);
  if (text !== text.toLowerCase()) return 'resource name should not contain capital letters';
  if (text === '*')
    return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
  if (NOT_RESOURCES.includes(text))
    return 'resources which do not have REST API/s cannot be encrypted';
  if (group === 'events.k8s.io')
    return (
      "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use " +
      "'events' instead in the config file"
    );
  if (group === 'extensions')
    return "'extensions' group has been removed and cannot be used for encryption";
  if (group === '*' && resource !== '*')
    return 'encrypting the same resource across groups is not supported';
  return undefined;
}

function readProviders(
  value: unknown,
  path: FieldPath,
  pluginNames: Set<string>,
  errors: FieldErrorList,
): ProviderConfiguration[] {
  const list = listOf(value, path, errors);
  if (list?.length === 0)
    errors.push(field.required(path, `at least one ${path.toString()} is required`));
  return (list ?? []).flatMap((item, i) => readProvider(item, path.index(i), pluginNames, errors));
}

/** `pluginNames`: of the plugins that came before in the file. */
function readProvider(
  value: unknown,
  path: FieldPath,
  pluginNames: Set<string>,
  errors: FieldErrorList,
): ProviderConfiguration[] {
  const fields = fieldsOf(value, path, PROVIDERS, errors);
  if (fields === undefined) return [];
  const types = Object.keys(fields).filter(
    (name) => PROVIDERS.includes(name) && fields[name] !== null,
  );
  const [type] = types;
  if (type === undefined) {
    const detail =
      'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity';
    errors.push(field.invalid(path, field.omitValue, detail));
    return [];
  }
  if (types.length > 1) {
    const detail =
      'more than one provider specified in a single element, should split into different list elements';
    errors.push(field.invalid(path, field.omitValue, detail));
    return [];
  }
  switch (type) {
    case 'aesgcm':
    case 'aescbc':
      return [{ type, keys: readKeys(fields[type], AES_KEY_BYTES, path.child(type), errors) }];
    case 'secretbox':
      return [
        { type, keys: readKeys(fields[type], SECRETBOX_KEY_BYTES, path.child(type), errors) },
      ];
    case 'identity':
      fieldsOf(fields[type], path.child(type), [], errors);
      return [{ type }];
    default:
      return readKms(fields[type], path.child(type), pluginNames, errors).map((kms) => ({
        type: 'kms',
        ...kms,
      }));
  }
}

function readKeys(
  value: unknown,
  lengths: readonly number[],
  path: FieldPath,
  errors: FieldErrorList,
): EncryptionKey[] {
  const keysPath = path.child('keys');
  const keys = listOf(fieldsOf(value, path, ['keys'], errors)?.['keys'], keysPath, errors);
  if (keys?.length === 0) errors.push(field.required(keysPath, 'at least one keys is required'));
  return (keys ?? []).flatMap((item, i) => readKey(item, lengths, keysPath.index(i), errors));
}

/** Reads a key. `lengths`: the allowed lengths of the secret, in bytes. */
function readKey(
  value: unknown,
  lengths: readonly number[],
  path: FieldPath,
  errors: FieldErrorList,
): EncryptionKey[] {
  const fields = fieldsOf(value, path, ['name', 'secret'], errors);
  if (fields === undefined) return [];
  const name = String(fields['name'] ?? '');
  const text = String(fields['secret'] ?? '');
  if (name === '')
    errors.push(field.required(path.child('name'), 'name is a mandatory field for a key'));
  const at = path.child('secret');
  if (text === '') {
    errors.push(field.required(at, 'secret is a mandatory field for a key'));
    return [];
  }
  if (!BASE64.test(text)) {
    errors.push(field.invalid(at, 'REDACTED', 'secrets must be base64 encoded'));
    return [];
  }
  const secret = new Uint8Array(Buffer.from(text, 'base64'));
  if (!lengths.includes(secret.length)) {
    const detail = `secret is not of the expected length, got ${secret.length}, expected one of [${lengths.join(' ')}]`;
    errors.push(field.invalid(at, 'REDACTED', detail));
    return [];
  }
  return [{ name, secret }];
}
