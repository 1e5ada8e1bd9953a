// The configuration of credential provider plugins: CredentialProviderConfig (kubelet.config.k8s.io/v1).

import { DurationError, parseDuration } from '#machinery/text/duration.ts';

export interface CredentialProvider {
  /** The name of the program in the directory of plugins. */
  readonly name: string;
  /** The version of requests and responses. */
  readonly apiVersion: string;
  /** Images for which the plugin is asked: hosts with '*' in labels, and beginnings of paths. */
  readonly matchImages: readonly string[];
  readonly defaultCacheMs: number;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export class CredentialProviderConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CredentialProviderConfigError';
  }
}

const CONFIG_VERSIONS = ['v1', 'v1beta1', 'v1alpha1'].map((v) => `kubelet.config.k8s.io/${v}`);
const API_VERSIONS = ['v1', 'v1alpha1', 'v1beta1'].map(
  (v) => `credentialprovider.kubelet.k8s.io/${v}`,
);
const FIELDS: ReadonlySet<string> = new Set([
  'name',
  'apiVersion',
  'matchImages',
  'defaultCacheDuration',
  'args',
  'env',
  'tokenAttributes',
]);

type Fields = Readonly<Record<string, unknown>>;

/** Reads the configuration from a parsed file. Throws a CredentialProviderConfigError. */
export function readCredentialProviders(content: unknown): readonly CredentialProvider[] {
  if (!isFields(content)) throw fail('it is no CredentialProviderConfig');
  const { apiVersion, kind, providers, ...others } = content;
  if (kind !== 'CredentialProviderConfig' || !CONFIG_VERSIONS.includes(apiVersion as string)) {
    throw fail(
      `its kind must be CredentialProviderConfig, and its apiVersion ${CONFIG_VERSIONS[0]}`,
    );
  }
  for (const name of Object.keys(others)) throw fail(`unknown field "${name}"`);
  if (!Array.isArray(providers) || providers.length === 0)
    throw fail('providers: Required value: at least 1 item in plugins is required');
  const read = providers.map(readProvider);
  const names = read.map(({ name }) => name);
  for (const [index, name] of names.entries())
    if (names.indexOf(name) !== index) throw fail(`providers.name: Duplicate value: "${name}"`);
  return read;
}

function readProvider(provider: unknown): CredentialProvider {
  if (!isFields(provider)) throw fail('providers: a provider is an object');
  for (const field of Object.keys(provider))
    if (!FIELDS.has(field)) throw fail(`unknown field "providers.${field}"`);
  const { name, apiVersion, matchImages, defaultCacheDuration, args = [], env = [] } = provider;
  if (typeof name !== 'string' || name === '') throw fail('providers.name: Required value');
  const problem =
    (name.includes('/') && "cannot contain '/'") ||
    (name.includes(' ') && 'cannot contain spaces') ||
    (name === '.' && "cannot be '.'") ||
    (name === '..' && "cannot be '..'");
  if (problem !== false)
    throw fail(`providers.name: Invalid value: "${name}": provider name ${problem}`);
  if (typeof apiVersion !== 'string') throw fail('providers.apiVersion: Required value');
  if (!API_VERSIONS.includes(apiVersion)) {
    throw fail(
      `providers.apiVersion: Unsupported value: "${apiVersion}": supported values: ` +
        API_VERSIONS.map((version) => `"${version}"`).join(', '),
    );
  }
  if (!isStrings(matchImages) || matchImages.length === 0) {
    throw fail('providers.matchImages: Required value: at least 1 item in matchImages is required');
  }
  if (provider['tokenAttributes'] !== undefined) {
    throw fail(
      'providers.tokenAttributes: Forbidden: plugins get no tokens of service accounts here',
    );
  }
  if (!isStrings(args)) throw fail('providers.args: Invalid value: a list of texts');
  return {
    name,
    apiVersion,
    matchImages,
    defaultCacheMs: cacheMs(defaultCacheDuration),
    args,
    env: readEnv(env),
  };
}

function cacheMs(duration: unknown): number {
  if (typeof duration !== 'string') throw fail('providers.defaultCacheDuration: Required value');
  try {
    const ms = parseDuration(duration);
    if (ms >= 0) return ms;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw fail(`providers.defaultCacheDuration: Invalid value: "${duration}": ${error.message}`);
  }
  throw fail(
    `providers.defaultCacheDuration: Invalid value: "${duration}": must be greater than or equal to 0`,
  );
}

function readEnv(env: unknown): Readonly<Record<string, string>> {
  const variables = Array.isArray(env) ? (env as readonly unknown[]) : [undefined];
  return Object.fromEntries(
    variables.map((variable) => {
      const { name, value } = isFields(variable) ? variable : {};
      if (typeof name !== 'string' || typeof value !== 'string')
        throw fail('providers.env: Invalid value: a list of objects with name and value');
      return [name, value];
    }),
  );
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function fail(message: string): CredentialProviderConfigError {
  return new CredentialProviderConfigError(message);
}
