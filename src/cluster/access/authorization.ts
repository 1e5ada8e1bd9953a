// The authorizers, from kube-apiserver's flags: authorization modes, or the file of an
// AuthorizationConfiguration.

import { readFileSync, statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { type AbacPolicy, readAbacPolicies } from '#apiserver/authorization/abac/policies.ts';
import { readAuthorizationConfiguration } from '#apiserver/authorization/configuration/read.ts';
import {
  AUTHORIZATION_MODES,
  type AuthorizationMode,
  type AuthorizerSettings,
} from '#apiserver/authorization/settings.ts';
import { ConfigurationError } from '#apiserver/configuration-files/decode.ts';
import { loadKubeconfig } from '#client/kubeconfig.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import { outsideWork } from '#machinery/pending-work.ts';
import { quoted } from '../flags/quoted.ts';
import type { AccessOptions } from './options.ts';
import { UserError } from '../user-error.ts';
import { ReloadedFile } from './reloaded-file.ts';

export interface AuthorizationFlags extends Pick<AccessOptions, 'authorizationConfig'> {
  /** Default: Node, RBAC. */
  readonly authorizationMode?: readonly string[];
  /** The file with the policies of the mode ABAC. */
  readonly authorizationPolicyFile?: string;
  /** The kubeconfig of the mode Webhook. */
  readonly authorizationWebhookConfigFile?: string;
  /** Default: 'v1beta1', as upstream. */
  readonly authorizationWebhookVersion?: string;
  /** In ms; 0 keeps no answers. Default: five minutes. */
  readonly authorizationWebhookCacheAuthorizedTtl?: number;
  /** In ms; 0 keeps no answers. Default: half a minute. */
  readonly authorizationWebhookCacheUnauthorizedTtl?: number;
}

export interface AuthorizationSettings {
  /** Returns the authorizers; the same list until they change. */
  readonly authorizers: () => readonly AuthorizerSettings[];
  /** Reads the file again until the signal aborts. `changed`: called after a change. */
  keepLoaded(signal: AbortSignal, changed: () => void): Promise<void>;
  metrics(): string;
}

interface Services {
  readonly clock: Clock;
  readonly logger: Logger;
}

const FLAG_MODES = [...AUTHORIZATION_MODES, 'ABAC'] as const;
type FlagMode = (typeof FLAG_MODES)[number];
const CONFIG_FLAG = '--authorization-config';
const WEBHOOK_TIMEOUT_MS = 30_000;
const AUTHORIZED_TTL_MS = 5 * 60_000;
const UNAUTHORIZED_TTL_MS = 30_000;
const WEBHOOK_NAME = 'default';
const REVIEW_VERSIONS = ['v1', 'v1beta1'] as const;

/**
 * Returns the settings that the flags describe. Undefined: no flag is set. Rejects with UserError.
 */
export async function authorizationOf(
  flags: AuthorizationFlags,
  services: Services,
): Promise<AuthorizationSettings | undefined> {
  const { authorizationConfig: file } = flags;
  if (file === undefined) {
    const authorizers = await authorizersOfFlags(flags, services.clock);
    if (authorizers === undefined) return undefined;
    return {
      authorizers: () => authorizers,
      keepLoaded: () => Promise.resolve(),
      metrics: () => '',
    };
  }
  const others = Object.entries(flags).filter(
    ([name, value]) => /^authorization(?:Mode|Webhook)/.test(name) && value !== undefined,
  );
  if (others.length > 0)
    throw new UserError(
      `${CONFIG_FLAG} can not be specified when --authorization-mode or --authorization-webhook-* flags are defined`,
    );
  if (flags.authorizationPolicyFile !== undefined)
    throw new UserError('cannot specify --authorization-policy-file without mode ABAC');
  return configuredBy(resolve(file), services);
}

async function configuredBy(path: string, services: Services): Promise<AuthorizationSettings> {
  let loaded: ReloadedFile<readonly AuthorizerSettings[]>;
  try {
    const text = readFileSync(path, 'utf8');
    const current = await readConfiguration(text, services.clock);
    const atStart = current.flatMap(({ type }) =>
      type === 'Webhook' || type === 'ABAC' ? [] : [type],
    );
    loaded = new ReloadedFile({
      ...services,
      path,
      subject: 'authorization',
      text,
      current,
      read: (changed) => outsideWork(readConfiguration(changed, services.clock, atStart)),
    });
  } catch (error) {
    throw new UserError(`${CONFIG_FLAG}: ${errorMessage(error)}`, { cause: error });
  }
  return {
    authorizers: () => loaded.current,
    keepLoaded: (signal, changed) => loaded.keepLoaded(signal, changed),
    metrics: () => loaded.metrics(),
  };
}

/**
 * Reads a configuration, and the kubeconfigs that it names. `atStart`: the types other than Webhook
 * when the server was started. They stay, and no others come. Rejects with Error.
 */
async function readConfiguration(
  text: string,
  clock: Clock,
  atStart?: readonly AuthorizationMode[],
): Promise<readonly AuthorizerSettings[]> {
  const authorizers = readAuthorizationConfiguration(text, { kubeconfigProblem }, atStart);
  for (const settings of authorizers) {
    const { type } = settings;
    if (type === 'Webhook') await loadKubeconfig(settings.kubeConfigFile, { clock });
    else if ((type === 'Node' || type === 'RBAC') && atStart?.includes(type) === false)
      throw new ConfigurationError(
        `authorizer type ${type} is not allowed if it was not enabled at initial server startup`,
      );
  }
  return authorizers;
}

function kubeconfigProblem(path: string): string | undefined {
  if (!isAbsolute(path)) return 'must be an absolute path';
  try {
    return statSync(path).isFile() ? undefined : 'must be a regular file';
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const why = missing ? `stat ${path}: no such file or directory` : errorMessage(error);
    return `error loading file: ${why}`;
  }
}

async function authorizersOfFlags(
  flags: AuthorizationFlags,
  clock: Clock,
): Promise<readonly AuthorizerSettings[] | undefined> {
  const modes = parseModes(flags.authorizationMode ?? []);
  const reviewVersion = reviewVersionOf(flags);
  const { authorizationWebhookConfigFile: file, authorizationPolicyFile: policyFile } = flags;
  if (modes.includes('ABAC') && policyFile === undefined)
    throw new UserError(
      "--authorization-mode: ABAC's policy file not passed: see --authorization-policy-file",
    );
  if (!modes.includes('ABAC') && policyFile !== undefined)
    throw new UserError('cannot specify --authorization-policy-file without mode ABAC');
  if (modes.includes('Webhook') && file === undefined)
    throw new UserError("authorization-mode Webhook's authorization config file not passed");
  if (!modes.includes('Webhook') && file !== undefined)
    throw new UserError('cannot specify --authorization-webhook-config-file without mode Webhook');
  if (modes.length === 0) return undefined;
  const webhook =
    file === undefined ? undefined : await webhookOf(file, reviewVersion, flags, clock);
  return modes.map((type): AuthorizerSettings => {
    if (type === 'ABAC') return { type, policies: policiesOf(resolve(policyFile!)) };
    return type === 'Webhook' ? webhook! : { type };
  });
}

function policiesOf(path: string): readonly AbacPolicy[] {
  try {
    return readAbacPolicies(readFileSync(path, 'utf8'), path);
  } catch (error) {
    throw new UserError(`--authorization-policy-file: ${errorMessage(error)}`, { cause: error });
  }
}

function reviewVersionOf({
  authorizationWebhookVersion: version = 'v1beta1',
}: AuthorizationFlags): 'v1' | 'v1beta1' {
  const reviewVersion = REVIEW_VERSIONS.find((known) => known === version);
  if (reviewVersion !== undefined) return reviewVersion;
  throw new UserError(
    `--authorization-webhook-version: unsupported webhook authorizer version ${quoted(version)}, ` +
      'supported versions are "v1", "v1beta1"',
  );
}

async function webhookOf(
  file: string,
  reviewVersion: 'v1' | 'v1beta1',
  flags: AuthorizationFlags,
  clock: Clock,
): Promise<AuthorizerSettings> {
  try {
    await loadKubeconfig(resolve(file), { clock });
  } catch (error) {
    throw new UserError(`--authorization-webhook-config-file: ${errorMessage(error)}`, {
      cause: error,
    });
  }
  return {
    type: 'Webhook',
    name: WEBHOOK_NAME,
    kubeConfigFile: resolve(file),
    timeoutMs: WEBHOOK_TIMEOUT_MS,
    failurePolicy: 'NoOpinion',
    reviewVersion,
    authorizedTtlMs: flags.authorizationWebhookCacheAuthorizedTtl ?? AUTHORIZED_TTL_MS,
    unauthorizedTtlMs: flags.authorizationWebhookCacheUnauthorizedTtl ?? UNAUTHORIZED_TTL_MS,
    matchConditions: [],
  };
}

function parseModes(names: readonly string[]): readonly FlagMode[] {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new UserError(`--authorization-mode: ${quoted(twice)} is there more than once`);
  return names.map((name) => {
    const mode = FLAG_MODES.find((known) => known === name);
    if (mode !== undefined) return mode;
    throw new UserError(
      `--authorization-mode: ${quoted(name)} is no authorization mode: modes are ${FLAG_MODES.join(', ')}`,
    );
  });
}
