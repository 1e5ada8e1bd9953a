// Reads a KubeletConfiguration file into the options of `cox kubelet`. Fields that are not applied
// are warned of or rejected, as flags are; unknown fields are errors.

import { dirname, isAbsolute, join, resolve } from 'node:path';
import { parseYaml, YamlError } from '#api/machinery/codec/index.ts';
import { isDeepStrictEqual } from 'node:util';
import { DurationError, parseDuration } from '#machinery/text/duration.ts';
import type { AuthorizationMode } from '#kubelet/server/access.ts';
import { UserError } from '../user-error.ts';
import {
  type ConfigurationField,
  type FieldType,
  KUBELET_CONFIGURATION_FIELDS,
} from './kubelet-configuration-fields.ts';
import { readFlagFile } from './role.ts';

/** Options of the command that a file may set. */
export interface KubeletFileOptions {
  readonly address?: string;
  readonly port?: number;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly clientCaFile?: string;
  readonly tlsMinVersion?: string;
  readonly tlsCipherSuites?: readonly string[];
  readonly authenticationTokenWebhook?: boolean;
  /** Durations are milliseconds. */
  readonly authenticationTokenWebhookCacheTtl?: number;
  /** Checked by the role, as the flag is. */
  readonly authorizationMode?: AuthorizationMode;
  readonly authorizationWebhookCacheAuthorizedTtl?: number;
  readonly authorizationWebhookCacheUnauthorizedTtl?: number;
  readonly podManifestPath?: string;
  readonly clusterDns?: readonly string[];
  readonly clusterDomain?: string;
  readonly maxPods?: number;
  readonly podCidr?: string;
  readonly containerRuntimeEndpoint?: string;
  readonly featureGates?: Readonly<Record<string, boolean>>;
}

export interface KubeletConfiguration {
  readonly options: KubeletFileOptions;
  /** One line each. */
  readonly warnings: readonly string[];
}

const API_VERSION = 'kubelet.config.k8s.io/v1beta1';
const KIND = 'KubeletConfiguration';
const FIELDS: ReadonlyMap<string, ConfigurationField> = new Map(
  KUBELET_CONFIGURATION_FIELDS.map((field) => [field.path, field]),
);
/** Paths in the file are relative to its directory. */
const PATHS = new Set(['tlsCertFile', 'tlsPrivateKeyFile', 'clientCaFile', 'podManifestPath']);

/** Throws UserError that names the file and the field. */
export function readKubeletConfiguration(file: string): KubeletConfiguration {
  const path = resolve(file);
  const fail = (message: string): UserError => new UserError(`--config: ${file}: ${message}`);
  let content: unknown;
  try {
    content = parseYaml(readFlagFile('--config', path));
  } catch (error) {
    if (error instanceof YamlError) throw fail(error.message);
    throw error;
  }
  if (!isObject(content)) throw fail(`it is no ${KIND}`);
  const { apiVersion, kind, ...fields } = content;
  if (apiVersion !== API_VERSION || kind !== KIND)
    throw fail(`its apiVersion must be ${API_VERSION}, and its kind ${KIND}`);
  const options: Record<string, unknown> = {};
  const warnings: string[] = [];
  const visit = (object: Readonly<Record<string, unknown>>, prefix: string): void => {
    for (const [name, value] of Object.entries(object)) {
      const field = FIELDS.get(prefix + name);
      if (field === undefined) throw fail(`unknown field "${prefix}${name}"`);
      if (value === null || value === undefined) continue;
      if (!isOfType(field.type, value))
        throw fail(`${field.path} takes a ${field.type}, not ${shown(value)}`);
      if (field.disposition === 'parent')
        visit(value as Readonly<Record<string, unknown>>, `${field.path}.`);
      else if (field.disposition === 'implemented') {
        options[field.option as string] = optionOf(field, value, dirname(path));
      } else if (!isAccepted(field, value)) {
        const setting = `${field.path}: ${shown(value)}`;
        if (field.disposition === 'rejected')
          throw fail(`${setting} is not supported: ${field.reason}`);
        warnings.push(`--config: ${setting} is not applied: ${field.reason}`);
      }
    }
  };
  visit(fields, '');
  // Empty values are those of fields that are not set.
  const set = Object.entries(options).filter(([, value]) => value !== '' && value !== 0);
  return { options: Object.fromEntries(set), warnings };
}

/** Returns the value as the command has it. Durations become milliseconds; relative paths start at `directory`. */
function optionOf(
  { type, option = '' }: ConfigurationField,
  value: unknown,
  directory: string,
): unknown {
  if (type === 'duration') return parseDuration(value as string);
  const isRelative = PATHS.has(option) && value !== '' && !isAbsolute(value as string);
  return isRelative ? join(directory, value as string) : value;
}

/** Zero values count as not set, as upstream's defaulting has it. */
function isAccepted({ type, accepted }: ConfigurationField, value: unknown): boolean {
  if (isZero(type, value)) return type !== 'boolean' || accepted.includes(false);
  return accepted.some((one) =>
    type === 'duration'
      ? parseDuration(one as string) === parseDuration(value as string)
      : isDeepStrictEqual(one, value),
  );
}

function isZero(type: FieldType, value: unknown): boolean {
  switch (type) {
    case 'boolean':
      return value === false;
    case 'number':
      return value === 0;
    case 'duration':
      return parseDuration(value as string) === 0;
    case 'string':
      return value === '';
    case 'list':
      return (value as readonly unknown[]).length === 0;
    case 'map':
    case 'object':
      return Object.keys(value as object).length === 0;
  }
}

function isOfType(type: FieldType, value: unknown): boolean {
  switch (type) {
    case 'boolean':
    case 'number':
    case 'string':
      return typeof value === type;
    case 'duration':
      return typeof value === 'string' && isDuration(value);
    case 'list':
      return Array.isArray(value);
    case 'map':
    case 'object':
      return isObject(value);
  }
}

function isDuration(text: string): boolean {
  try {
    parseDuration(text);
    return true;
  } catch (error) {
    if (error instanceof DurationError) return false;
    throw error;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const shown = (value: unknown): string => JSON.stringify(value).slice(0, 80);
