// The environment of a container: services, envFrom, then env in its order. Each variable may refer
// to earlier ones.

import { join } from 'node:path';
import * as apierrors from '#machinery/apierrors.ts';
import type { ObjectSource } from '../objects.ts';
import type { Container, Pod } from '../types.ts';
import { fieldValue, resourceValue, type DownwardContext } from './downward.ts';
import { parseEnvFile, readEnvFile } from './env-file.ts';
import { limitedExpand } from './expand.ts';
import type { ServiceVariables } from './service-variables.ts';
import { ownValue } from '#machinery/collections/string-map.ts';

export interface EnvironmentInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly services: ServiceVariables;
  readonly objects: ObjectSource;
  readonly downward: DownwardContext;
  /**
   * Returns the path of a volume of the pod; undefined if it has none of this name. Absent: pods
   * have no files, and variables from files are unset.
   */
  readonly volumePath?: (name: string) => string | undefined;
  /** Called with keys of a ConfigMap or Secret that are not valid variable names. */
  readonly onInvalidNames: (message: string) => void;
}

export type Environment = ReadonlyMap<string, string>;

/**
 * Returns the environment. Rejects with the reason why the container cannot be created, such as a
 * missing ConfigMap or an unknown field.
 */
export async function makeEnvironment(input: EnvironmentInput): Promise<Environment> {
  const { pod, container } = input;
  const namespace = pod.metadata.namespace ?? '';
  const services = input.services.for(namespace, pod.spec.enableServiceLinks !== false);
  const own = new Map<string, string>();
  for (const source of container.envFrom ?? []) await addFrom(input, namespace, source, own);
  const lookup = (name: string): string | undefined => own.get(name) ?? services.get(name);
  const expand = limitedExpand();
  for (const variable of container.env ?? []) {
    if (variable.valueFrom === undefined) {
      own.set(variable.name, expand(variable.value ?? '', lookup));
      continue;
    }
    const value = await valueFrom(input, namespace, variable.valueFrom);
    // An optional missing reference leaves the variable unset.
    if (value !== undefined) own.set(variable.name, value);
  }
  return new Map([...services, ...own]);
}

type EnvFrom = NonNullable<Container['envFrom']>[number];
type ValueFrom = NonNullable<NonNullable<Container['env']>[number]['valueFrom']>;

async function addFrom(
  input: EnvironmentInput,
  namespace: string,
  source: EnvFrom,
  into: Map<string, string>,
): Promise<void> {
  const prefix = source.prefix ?? '';
  let data: Readonly<Record<string, string>>;
  let what: string;
  if (source.configMapRef !== undefined) {
    const name = source.configMapRef.name ?? '';
    what = `configMap ${namespace}/${name}`;
    const found = await optional(
      source.configMapRef.optional,
      input.objects.configMap(namespace, name),
    );
    data = found?.data ?? {};
  } else if (source.secretRef !== undefined) {
    const name = source.secretRef.name ?? '';
    what = `secret ${namespace}/${name}`;
    const found = await optional(source.secretRef.optional, input.objects.secret(namespace, name));
    data = Object.fromEntries(
      Object.entries(found?.data ?? {}).map(([key, value]) => [key, decodeText(value)]),
    );
  } else return;
  const invalid: string[] = [];
  for (const [key, value] of Object.entries(data)) {
    if (isVariableName(prefix + key)) into.set(prefix + key, value);
    else invalid.push(prefix + key);
  }
  if (invalid.length > 0) {
    input.onInvalidNames(
      `Keys [${invalid.toSorted().join(', ')}] from the EnvFrom ${what} were skipped since ` +
        'they are considered invalid environment variable names.',
    );
  }
}

/** Returns the value; undefined if it is optional and missing. */
async function valueFrom(
  input: EnvironmentInput,
  namespace: string,
  source: ValueFrom,
): Promise<string | undefined> {
  const { pod, container } = input;
  if (source.fieldRef !== undefined)
    return fieldValue(pod, source.fieldRef.fieldPath, input.downward);
  if (source.resourceFieldRef !== undefined)
    return resourceValue(pod, container, source.resourceFieldRef, input.downward);
  if (source.configMapKeyRef !== undefined) {
    const { name = '', key, optional: isOptional } = source.configMapKeyRef;
    const configMap = await optional(isOptional, input.objects.configMap(namespace, name));
    const value =
      ownValue(configMap?.data, key) ?? decodeOptional(ownValue(configMap?.binaryData, key));
    if (value === undefined && configMap !== undefined && isOptional !== true) {
      throw new Error(`couldn't find key ${key} in ConfigMap ${namespace}/${name}`);
    }
    return value;
  }
  if (source.secretKeyRef !== undefined) {
    const { name = '', key, optional: isOptional } = source.secretKeyRef;
    const secret = await optional(isOptional, input.objects.secret(namespace, name));
    const value = ownValue(secret?.data, key);
    if (value === undefined && secret !== undefined && isOptional !== true) {
      throw new Error(`couldn't find key ${key} in Secret ${namespace}/${name}`);
    }
    return decodeOptional(value);
  }
  if (source.fileKeyRef !== undefined) return await fileValue(input, source.fileKeyRef);
  throw new Error('invalid valueFrom: no source is given');
}

async function fileValue(
  { volumePath }: EnvironmentInput,
  { volumeName, path, key, optional: isOptional }: NonNullable<ValueFrom['fileKeyRef']>,
): Promise<string | undefined> {
  if (volumePath === undefined) return undefined;
  const directory = volumePath(volumeName);
  if (directory === undefined)
    throw new Error(`cannot find the volume "${volumeName}" referenced by FileKeyRef`);
  let value: string;
  try {
    value = parseEnvFile(await readEnvFile(directory, path), key);
  } catch (error) {
    throw new Error(`couldn't parse env file`, { cause: error });
  }
  if (value !== '') return value;
  // As upstream: an empty value counts as a missing one.
  if (isOptional === true) return undefined;
  throw new Error(`environment variable key "${key}" not found in file "${join(directory, path)}"`);
}

async function optional<T>(
  isOptional: boolean | undefined,
  found: Promise<T>,
): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (isOptional === true && apierrors.isNotFound(error)) return undefined;
    throw error;
  }
}

function decodeText(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

function decodeOptional(base64: string | undefined): string | undefined {
  return base64 === undefined ? undefined : decodeText(base64);
}

/** Reports whether a name is valid: printable ASCII without '='. */
function isVariableName(name: string): boolean {
  return /^[ -<>-~]+$/.test(name);
}
