// Reads a KubeletConfiguration file into the options of `cox kubelet`. Fields that are not applied
// are warned of or rejected, as flags are; unknown fields are errors.

import { readdirSync } from 'node:fs';
import { dirname, extname, isAbsolute, join, resolve } from 'node:path';
import { parseYaml, YamlError } from '#api/machinery/codec/index.ts';
import { isDeepStrictEqual } from 'node:util';
import { applyMergePatch } from '#machinery/patch/merge-patch.ts';
import { DurationError, parseDuration } from '#machinery/text/duration.ts';
import type { AuthorizationMode } from '#kubelet/server/access.ts';
import { UserError } from '../../user-error.ts';
import {
  type ConfigurationField,
  type FieldType,
  KUBELET_CONFIGURATION_FIELDS,
} from './configuration-fields.ts';
import type { NodeResourceOptions } from './node-resources.ts';
import { readFlagFile } from '../../flags/flag-files.ts';

/** Options of the command that a file may set. */
export interface KubeletFileOptions extends NodeResourceOptions {
  readonly address?: string;
  readonly port?: number;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly clientCaFile?: string;
  readonly tlsMinVersion?: string;
  readonly tlsCipherSuites?: readonly string[];
  readonly tlsCurvePreferences?: readonly number[];
  readonly rotateCertificates?: boolean;
  readonly rotateServerCertificates?: boolean;
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
const PATHS = new Set([
  'tlsCertFile',
  'tlsPrivateKeyFile',
  'clientCaFile',
  'podManifestPath',
  'podLogsDir',
]);

type Fields = Readonly<Record<string, unknown>>;

/** A file that sets fields. */
interface Source {
  /** The flag and the file, for errors. */
  readonly name: string;
  /** Relative paths are resolved: they start at the directory of their file. */
  readonly fields: Fields;
}

/** The extension of files in a drop-in directory; others are skipped with a warning. */
const DROP_IN = '.conf';
/** A directory with more files is a mistake. */
const MAX_DROP_INS = 1000;

/** Reads one file. Throws UserError that names the file and the field. */
export function readKubeletConfiguration(file: string): KubeletConfiguration {
  return readKubeletConfigurations(file, undefined);
}

/**
 * Reads a file and the files of a drop-in directory, in the order of their paths. Each is merged
 * over the ones before it as a JSON merge patch, as upstream does. Throws UserError that names the
 * file and the field.
 */
export function readKubeletConfigurations(
  file: string | undefined,
  directory: string | undefined,
): KubeletConfiguration {
  const sources = file === undefined ? [] : [readSource('--config', file)];
  const skipped: string[] = [];
  if (directory !== undefined) {
    for (const path of filesBelow(directory)) {
      if (extname(path) === DROP_IN) sources.push(readSource('--config-dir', path));
      else skipped.push(`--config-dir: ${path} is skipped: its name does not end in ${DROP_IN}`);
    }
  }
  // Each file is checked by itself, so that an error names the file.
  for (const { name, fields } of sources) interpret(name, fields);
  const merged = sources.reduce<unknown>((base, { fields }) => applyMergePatch(base, fields), {});
  const { options, warnings } = interpret(sources[0]?.name ?? '--config', merged as Fields);
  return { options, warnings: [...skipped, ...warnings] };
}

/** Returns the files in a directory and below it, sorted. As in Go's WalkDir, links are not followed. */
function filesBelow(directory: string): readonly string[] {
  const files: string[] = [];
  // The recursion of readdirSync follows links to directories since Node 22.
  const visit = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) visit(path);
      else files.push(path);
    }
  };
  try {
    visit(directory);
  } catch (error) {
    throw new UserError(`--config-dir: ${directory}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  if (files.length > MAX_DROP_INS)
    throw new UserError(`--config-dir: ${directory} has more than ${MAX_DROP_INS} files`);
  return files.toSorted();
}

function readSource(flag: string, file: string): Source {
  const path = resolve(file);
  const name = `${flag}: ${file}`;
  const fail = (message: string): UserError => new UserError(`${name}: ${message}`);
  let content: unknown;
  try {
    content = parseYaml(readFlagFile(flag, path));
  } catch (error) {
    if (error instanceof YamlError) throw fail(error.message);
    throw error;
  }
  if (!isObject(content)) throw fail(`it is no ${KIND}`);
  const { apiVersion, kind, ...fields } = content;
  if (apiVersion !== API_VERSION || kind !== KIND)
    throw fail(`its apiVersion must be ${API_VERSION}, and its kind ${KIND}`);
  return { name, fields: withAbsolutePaths(fields, '', dirname(path)) };
}

function withAbsolutePaths(fields: Fields, prefix: string, directory: string): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const field = FIELDS.get(prefix + name);
      if (field?.disposition === 'parent' && isObject(value))
        return [name, withAbsolutePaths(value, `${field.path}.`, directory)];
      const isPath = PATHS.has(field?.option ?? '') && typeof value === 'string';
      if (!isPath || value === '' || isAbsolute(value)) return [name, value];
      return [name, join(directory, value)];
    }),
  );
}

/** Returns the options of the fields. `source`: the flag and the file, for errors. */
function interpret(source: string, fields: Fields): KubeletConfiguration {
  const fail = (message: string): UserError => new UserError(`${source}: ${message}`);
  const options: Record<string, unknown> = {};
  const warnings: string[] = [];
  const visit = (object: Fields, prefix: string): void => {
    for (const [name, value] of Object.entries(object)) {
      const field = FIELDS.get(prefix + name);
      if (field === undefined) throw fail(`unknown field "${prefix}${name}"`);
      if (value === null || value === undefined) continue;
      if (!isOfType(field.type, value))
        throw fail(`${field.path} takes a ${field.type}, not ${shown(value)}`);
      if (field.disposition === 'parent') visit(value as Fields, `${field.path}.`);
      else if (field.disposition === 'implemented') {
        if (isSet(field, value)) options[field.option as string] = optionOf(field, value);
      } else if (!isAccepted(field, value)) {
        const setting = `${field.path}: ${shown(value)}`;
        if (field.disposition === 'rejected')
          throw fail(`${setting} is not supported: ${field.reason}`);
        warnings.push(`--config: ${setting} is not applied: ${field.reason}`);
      }
    }
  };
  visit(fields, '');
  return { options, warnings };
}

/** Returns the value as the command has it. Durations become milliseconds. */
function optionOf({ type }: ConfigurationField, value: unknown): unknown {
  return type === 'duration' ? parseDuration(value as string) : value;
}

/** Reports whether the value is a setting: empty ones of most types stand for the default. */
function isSet({ type, zeroIsSet }: ConfigurationField, value: unknown): boolean {
  return zeroIsSet === true || type === 'boolean' || type === 'map' || !isZero(type, value);
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
