// Reads the provider kms of an EncryptionConfiguration. The messages are upstream's.

import { HAS_ABSTRACT_SOCKETS } from '#machinery/grpc/connection.ts';
import { DurationError, parseDuration } from '#machinery/text/duration.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';
import { fieldsOf } from '../config-fields.ts';

/** A key management plugin, version v2. */
export interface KmsConfiguration {
  readonly name: string;
  /** The path of a unix socket, or the name of an abstract one: `@name`. */
  readonly endpoint: string;
  /** The deadline of one call. */
  readonly timeoutMs: number;
}

const DEFAULT_TIMEOUT_MS = 3_000;
const KNOWN = ['apiVersion', 'name', 'cachesize', 'endpoint', 'timeout'];

/**
 * Returns the plugin; nothing if it has errors, which are added to the list. `names`: those of the
 * plugins before it, to which it is added.
 */
export function readKms(
  value: unknown,
  path: FieldPath,
  names: Set<string>,
  errors: FieldErrorList,
): KmsConfiguration[] {
  const fields = fieldsOf(value, path, KNOWN, errors);
  if (fields === undefined) return [];
  const before = errors.length;
  const name = readName(fields['name'], path.child('name'), names, errors);
  const timeoutMs = readTimeout(fields['timeout'], path.child('timeout'), errors);
  const endpoint = readEndpoint(fields['endpoint'], path.child('endpoint'), errors);
  const size = fields['cachesize'];
  if (size !== undefined && size !== null && versionOf(fields['apiVersion']) === 'v2')
    errors.push(field.invalid(path.child('cachesize'), size, 'cachesize is not supported in v2'));
  readVersion(fields['apiVersion'], path.child('apiVersion'), errors);
  return errors.length > before ? [] : [{ name, endpoint, timeoutMs }];
}

function readName(
  value: unknown,
  at: FieldPath,
  names: Set<string>,
  errors: FieldErrorList,
): string {
  const name = String(value ?? '');
  if (name === '') errors.push(field.required(at, 'name is a mandatory field for a provider'));
  if (name.includes(':'))
    errors.push(field.invalid(at, name, `invalid KMS provider name ${name}, must not contain ':'`));
  if (names.has(name))
    errors.push(
      field.invalid(at, name, `duplicate KMS provider name ${name}, names must be unique`),
    );
  names.add(name);
  return name;
}

function readTimeout(value: unknown, at: FieldPath, errors: FieldErrorList): number {
  if (value === undefined || value === null) return DEFAULT_TIMEOUT_MS;
  try {
    const ms = parseDuration(String(value));
    if (ms > 0) return ms;
    errors.push(field.invalid(at, value, 'timeout should be a positive value'));
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    errors.push(field.invalid(at, value, error.message));
  }
  return DEFAULT_TIMEOUT_MS;
}

/** Returns the path of the socket; of `unix:///@name` the name, as upstream. */
function readEndpoint(value: unknown, at: FieldPath, errors: FieldErrorList): string {
  const endpoint = String(value ?? '');
  const [, scheme = '', path = ''] = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/(.*)$/s.exec(endpoint) ?? [];
  if (endpoint === '') errors.push(field.required(at, 'endpoint is a mandatory field for a kms'));
  else if (scheme !== 'unix')
    errors.push(
      field.invalid(
        at,
        endpoint,
        `unsupported scheme ${JSON.stringify(scheme)} for KMS provider, only unix is supported`,
      ),
    );
  else if (!path.startsWith('/'))
    errors.push(field.invalid(at, endpoint, 'must be unix:// and the absolute path of a socket'));
  else if (path.startsWith('/@') && !HAS_ABSTRACT_SOCKETS)
    errors.push(field.invalid(at, endpoint, 'abstract sockets need Node 22 or later'));
  return path.startsWith('/@') ? path.slice(1) : path;
}

const versionOf = (value: unknown): string => String(value ?? '') || 'v1';

function readVersion(value: unknown, at: FieldPath, errors: FieldErrorList): void {
  const version = versionOf(value);
  if (version === 'v2') return;
  errors.push(
    version === 'v1'
      ? field.forbidden(at, 'KMS v1 is not supported: use a plugin with apiVersion v2')
      : field.invalid(
          at,
          version,
          'unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported',
        ),
  );
}
