// The policy file of the mode ABAC: one policy in JSON on each line, as upstream reads it.

import { isPlainObject } from '#machinery/deep.ts';
import { ConfigurationError } from '../../configuration-files/decode.ts';

/** A policy permits what all of its fields match; '*' matches all values. */
export interface AbacPolicy {
  readonly user: string;
  readonly group: string;
  readonly namespace: string;
  readonly resource: string;
  readonly apiGroup: string;
  /** A path, or its beginning and '*'. */
  readonly nonResourcePath: string;
  readonly readonly: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

const VERSIONS = [
  'abac.authorization.kubernetes.io/v1beta1',
  'abac.authorization.kubernetes.io/v0',
];
const TEXTS = ['user', 'group', 'namespace', 'resource', 'apiGroup', 'nonResourcePath'] as const;
const EVERYONE = 'system:authenticated';

/** Throws ConfigurationError with the line of the first error. `path`: for messages. */
export function readAbacPolicies(text: string, path: string): readonly AbacPolicy[] {
  return text.split('\n').flatMap((line, index) => {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) return [];
    try {
      return [policyOf(JSON.parse(trimmed))];
    } catch (error) {
      if (!(error instanceof SyntaxError || error instanceof ConfigurationError)) throw error;
      throw new ConfigurationError(
        `error reading policy file ${path}, line ${index + 1}: ${error.message}`,
        { cause: error },
      );
    }
  });
}

function policyOf(value: unknown): AbacPolicy {
  if (!isPlainObject(value)) throw new ConfigurationError('a policy must be an object');
  const { apiVersion = '', kind = '', spec } = value;
  if (apiVersion === '' && kind === '') return ofEarlyVersion(fieldsOf(value));
  if (kind !== 'Policy' || !VERSIONS.includes(String(apiVersion)))
    throw new ConfigurationError(
      `no kind "${String(kind)}" is registered for version "${String(apiVersion)}"`,
    );
  if (apiVersion === VERSIONS[1]) return ofEarlyVersion(fieldsOf(value));
  return fieldsOf(isPlainObject(spec) ? spec : {});
}

function fieldsOf(fields: Fields): AbacPolicy {
  const texts = TEXTS.map((name) => [name, textOf(fields, name)] as const);
  const { readonly: isReadonly = false } = fields;
  if (typeof isReadonly !== 'boolean')
    throw new ConfigurationError('readonly must be true or false');
  return { ...(Object.fromEntries(texts) as Omit<AbacPolicy, 'readonly'>), readonly: isReadonly };
}

function textOf(fields: Fields, name: string): string {
  const value = fields[name] ?? '';
  if (typeof value === 'string') return value;
  throw new ConfigurationError(`${name} must be a string`);
}

/** In version 0 what is not named matches everything, and '*' is every authenticated user. */
function ofEarlyVersion({ user, group, namespace, resource, readonly }: AbacPolicy): AbacPolicy {
  const isEveryone = user === '*' || group === '*' || (user === '' && group === '');
  return {
    user: user === '*' || group === '*' ? '' : user,
    group: isEveryone ? EVERYONE : group,
    namespace: namespace === '' ? '*' : namespace,
    resource: resource === '' ? '*' : resource,
    apiGroup: '*',
    nonResourcePath: namespace === '' && resource === '' ? '*' : '',
    readonly,
  };
}
