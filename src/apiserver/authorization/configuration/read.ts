// Reads and validates an AuthorizationConfiguration, with upstream's messages.

import type {
  AuthorizationConfiguration,
  AuthorizerConfiguration,
  WebhookConfiguration,
} from '#api/config/apiserver/v1/index.ts';
import { parseDuration } from '#machinery/text/duration.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { isDNS1123Subdomain } from '#machinery/validation/validation.ts';
import { ConfigurationError, decodeConfiguration } from '../../configuration-files/decode.ts';
import {
  AUTHORIZATION_MODES,
  type AuthorizationMode,
  type AuthorizerSettings,
  type FailurePolicy,
} from '../settings.ts';
import { compileMatchCondition } from '../webhook/match-conditions.ts';

const EXPECTED = {
  group: 'apiserver.config.k8s.io',
  versions: ['v1', 'v1beta1', 'v1alpha1'],
  kind: 'AuthorizationConfiguration',
  type: 'apiserver/v1.AuthorizationConfiguration',
} as const;

const DEFAULT_AUTHORIZED_TTL = '5m0s';
const DEFAULT_UNAUTHORIZED_TTL = '30s';
const UNSET = '0s';
const MAX_TIMEOUT_MS = 30_000;
const MAX_MATCH_CONDITIONS = 64;
const REVIEW_VERSIONS = ['v1', 'v1beta1'] as const;
const FAILURE_POLICIES = ['NoOpinion', 'Deny'] as const;
const IN_CLUSTER = 'InClusterConfig';
const KUBECONFIG = 'KubeConfigFile';

export interface AuthorizationFiles {
  /** Returns why a path cannot be the file of a kubeconfig; undefined if it can. */
  kubeconfigProblem(path: string): string | undefined;
}

/**
 * Returns the authorizers of a file. `required`: the types that must be there, since a running
 * server cannot give them up. Throws ConfigurationError.
 */
export function readAuthorizationConfiguration(
  text: string,
  files: AuthorizationFiles,
  required: readonly AuthorizationMode[] = [],
): readonly AuthorizerSettings[] {
  const { authorizers = [] } = decode(text);
  const errors = validate(authorizers, files);
  if (errors.length > 0) throw new ConfigurationError(field.aggregateMessage(errors));
  const others = [...wrongNames(authorizers), ...missingTypes(authorizers, required)];
  if (others.length > 0) throw new ConfigurationError(field.joinMessages(new Set(others)));
  return authorizers.map(settingsOf);
}

/** An empty file is an empty configuration, as upstream. */
function decode(text: string): AuthorizationConfiguration {
  if (text === '') return { ...EXPECTED, apiVersion: '' };
  try {
    return decodeConfiguration<AuthorizationConfiguration>(text, EXPECTED);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new ConfigurationError(
      `failed to load AuthorizationConfiguration from file: ${error.message}`,
      { cause: error },
    );
  }
}

function validate(
  authorizers: readonly AuthorizerConfiguration[],
  files: AuthorizationFiles,
): FieldErrorList {
  const root = field.path('authorizers');
  if (authorizers.length === 0)
    return [field.required(root, 'at least one authorization mode must be defined')];
  const seenTypes = new Set<string>();
  const seenNames = new Set<string>();
  return authorizers.flatMap((authorizer, index) => {
    const at = root.index(index);
    const { type, name, webhook } = authorizer;
    if (type === '') return [field.required(at.child('type'))];
    if (!isMode(type)) return [field.notSupported(at.child('type'), type, AUTHORIZATION_MODES)];
    if (seenTypes.has(type) && type !== 'Webhook') return [field.duplicate(at.child('type'), type)];
    seenTypes.add(type);
    const errors = validateName(name, seenNames, at.child('name'));
    seenNames.add(name);
    if (type !== 'Webhook') {
      if (webhook !== undefined)
        errors.push(
          field.invalid(at.child('webhook'), 'non-null', 'may only be specified when type=Webhook'),
        );
      return errors;
    }
    if (webhook === undefined)
      return [...errors, field.required(at.child('webhook'), 'required when type=Webhook')];
    return [...errors, ...validateWebhook(webhook, files, at)];
  });
}

const isMode = (type: string): type is AuthorizationMode =>
  (AUTHORIZATION_MODES as readonly string[]).includes(type);

function validateName(name: string, seen: ReadonlySet<string>, at: FieldPath): FieldErrorList {
  if (name === '') return [field.required(at)];
  if (seen.has(name)) return [field.duplicate(at, name)];
  const problems = isDNS1123Subdomain(name);
  if (problems.length === 0) return [];
  return [field.invalid(at, name, `authorizer name is invalid: ${problems.join(', ')}`)];
}

/** As upstream, the paths of errors leave `webhook` out. */
function validateWebhook(
  webhook: WebhookConfiguration,
  files: AuthorizationFiles,
  at: FieldPath,
): FieldErrorList {
  const { timeout, authorizedTTL, unauthorizedTTL } = webhook;
  return [
    ...validateTimeout(timeout, at.child('timeout')),
    ...validateTtl(authorizedTTL, at.child('authorizedTTL')),
    ...validateTtl(unauthorizedTTL, at.child('unauthorizedTTL')),
    ...validateVersions(webhook, at),
    ...validateConnection(webhook.connectionInfo, files, at.child('connectionInfo')),
    ...validateConditions(webhook.matchConditions ?? [], at.child('matchConditions')),
  ];
}

function validateTimeout(timeout: string, at: FieldPath): FieldErrorList {
  if (timeout === UNSET) return [field.required(at)];
  const ms = parseDuration(timeout);
  return ms > MAX_TIMEOUT_MS || ms < 0
    ? [field.invalid(at, timeout, 'must be > 0s and <= 30s')]
    : [];
}

/** A time that is not set has a default. */
function validateTtl(ttl: string, at: FieldPath): FieldErrorList {
  return parseDuration(ttl) < 0 ? [field.invalid(at, ttl, 'must be > 0s')] : [];
}

function validateVersions(webhook: WebhookConfiguration, at: FieldPath): FieldErrorList {
  const { subjectAccessReviewVersion: version, failurePolicy, matchConditions = [] } = webhook;
  const { matchConditionSubjectAccessReviewVersion: conditionVersion } = webhook;
  const errors: FieldErrorList = [];
  const versionPath = at.child('subjectAccessReviewVersion');
  if (version === '') errors.push(field.required(versionPath));
  else if (!isOneOf(REVIEW_VERSIONS, version))
    errors.push(field.notSupported(versionPath, version, REVIEW_VERSIONS));
  const conditionPath = at.child('matchConditionSubjectAccessReviewVersion');
  if (conditionVersion === '') {
    if (matchConditions.length > 0)
      errors.push(field.required(conditionPath, 'required if match conditions are specified'));
  } else if (conditionVersion !== 'v1')
    errors.push(field.notSupported(conditionPath, conditionVersion, ['v1']));
  const policyPath = at.child('failurePolicy');
  if (failurePolicy === '') errors.push(field.required(policyPath));
  else if (!isOneOf(FAILURE_POLICIES, failurePolicy))
    errors.push(field.notSupported(policyPath, failurePolicy, FAILURE_POLICIES));
  return errors;
}

const isOneOf = <T extends string>(values: readonly T[], value: string): value is T =>
  (values as readonly string[]).includes(value);

function validateConnection(
  { type, kubeConfigFile }: WebhookConfiguration['connectionInfo'],
  files: AuthorizationFiles,
  at: FieldPath,
): FieldErrorList {
  const path = at.child('kubeConfigFile');
  switch (type) {
    case '':
      return [field.required(at.child('type'))];
    case IN_CLUSTER:
      return kubeConfigFile === undefined
        ? [field.forbidden(at.child('type'), 'an API server cannot be its own webhook')]
        : [field.invalid(path, kubeConfigFile, `can only be set when type=${KUBECONFIG}`)];
    case KUBECONFIG: {
      if (kubeConfigFile === undefined || kubeConfigFile === '') return [field.required(path)];
      const problem = files.kubeconfigProblem(kubeConfigFile);
      return problem === undefined ? [] : [field.invalid(path, kubeConfigFile, problem)];
    }
    default:
      return [field.notSupported(at.child('type'), type, [IN_CLUSTER, KUBECONFIG])];
  }
}

function validateConditions(
  conditions: readonly { readonly expression: string }[],
  at: FieldPath,
): FieldErrorList {
  if (conditions.length > MAX_MATCH_CONDITIONS)
    return [field.tooMany(at, conditions.length, MAX_MATCH_CONDITIONS)];
  const seen = new Set<string>();
  return conditions.flatMap(({ expression }, index) => {
    const path = at.index(index).child('expression');
    if (expression.trim() === '') return [field.required(path)];
    if (seen.has(expression)) return [field.duplicate(path, expression)];
    seen.add(expression);
    const { problem } = compileMatchCondition(expression);
    return problem === undefined ? [] : [field.invalid(path, expression, problem)];
  });
}

function wrongNames(authorizers: readonly AuthorizerConfiguration[]): readonly string[] {
  return authorizers.flatMap(({ type, name }) =>
    type === 'Webhook' || name === type.toLowerCase()
      ? []
      : [`expected name ${type.toLowerCase()} for authorizer ${type} instead of ${name}`],
  );
}

function missingTypes(
  authorizers: readonly AuthorizerConfiguration[],
  required: readonly AuthorizationMode[],
): readonly string[] {
  const missing = required.filter((type) => authorizers.every((each) => each.type !== type));
  return missing.length === 0 ? [] : [`missing required types: [${missing.toSorted().join(' ')}]`];
}

/** Returns the settings of a valid authorizer. */
function settingsOf({ type, name, webhook }: AuthorizerConfiguration): AuthorizerSettings {
  if (type !== 'Webhook' || webhook === undefined)
    return { type: type as Exclude<AuthorizationMode, 'Webhook'> };
  const { cacheAuthorizedRequests = true, cacheUnauthorizedRequests = true } = webhook;
  return {
    type,
    name,
    kubeConfigFile: webhook.connectionInfo.kubeConfigFile ?? '',
    timeoutMs: parseDuration(webhook.timeout),
    failurePolicy: webhook.failurePolicy as FailurePolicy,
    reviewVersion: webhook.subjectAccessReviewVersion as 'v1' | 'v1beta1',
    authorizedTtlMs: cacheAuthorizedRequests
      ? ttlOf(webhook.authorizedTTL, DEFAULT_AUTHORIZED_TTL)
      : 0,
    unauthorizedTtlMs: cacheUnauthorizedRequests
      ? ttlOf(webhook.unauthorizedTTL, DEFAULT_UNAUTHORIZED_TTL)
      : 0,
    matchConditions: (webhook.matchConditions ?? []).map(({ expression }) => expression),
  };
}

const ttlOf = (ttl: string, byDefault: string): number =>
  parseDuration(ttl === UNSET ? byDefault : ttl);
