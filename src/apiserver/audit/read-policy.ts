// Reads and validates an audit policy, with upstream's messages.

import type {
  GroupResources as FileResources,
  Policy,
  PolicyRule,
} from '#api/config/audit/v1/index.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { isDNS1123Subdomain } from '#machinery/validation/validation.ts';
import { ConfigurationError, decodeLeniently } from '../configuration-files/decode.ts';
import { type AuditPolicy, type AuditRule, type GroupResources, LEVELS, STAGES } from './policy.ts';

const EXPECTED = {
  group: 'audit.k8s.io',
  versions: ['v1'],
  kind: 'Policy',
  type: 'audit/v1.Policy',
} as const;

/** The policy, and what in it is ignored because no field has its name. */
export interface ReadPolicy {
  readonly policy: AuditPolicy;
  readonly unknownFields: readonly string[];
}

/**
 * Reads the text of a policy file, YAML or JSON. Throws ConfigurationError for a text that is no
 * policy, FieldErrorsError with every error of a policy.
 */
export function readAuditPolicy(text: string): ReadPolicy {
  const { configuration, unknownFields } = decodePolicy(text);
  const errors: FieldErrorList = [];
  const policy: AuditPolicy = {
    omitStages: stagesOf(configuration.omitStages, field.path('omitStages'), errors),
    omitManagedFields: configuration.omitManagedFields ?? false,
    rules: configuration.rules.map((rule, index) =>
      ruleOf(rule, field.path('rules').index(index), errors),
    ),
  };
  if (errors.length > 0) throw new field.FieldErrorsError(errors);
  if (policy.rules.length === 0) throw new ConfigurationError('loaded illegal policy with 0 rules');
  return { policy, unknownFields };
}

function decodePolicy(text: string): ReturnType<typeof decodeLeniently<Policy>> {
  try {
    return decodeLeniently<Policy>(text, EXPECTED);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new ConfigurationError(`failed decoding: ${error.message}`, { cause: error });
  }
}

function ruleOf(given: PolicyRule, at: FieldPath, errors: FieldErrorList): AuditRule {
  const { omitManagedFields, resources = [] } = given;
  const rule: AuditRule = {
    level: levelOf(given.level, at.child('level'), errors),
    users: given.users ?? [],
    userGroups: given.userGroups ?? [],
    verbs: given.verbs ?? [],
    namespaces: given.namespaces ?? [],
    nonResourceURLs: given.nonResourceURLs ?? [],
    resources: resources.map((each) => resourcesOf(each, at.child('resources'), errors)),
    omitStages: stagesOf(given.omitStages, at.child('omitStages'), errors),
    ...(omitManagedFields !== undefined && { omitManagedFields }),
  };
  checkUrls(rule, at.child('nonResourceURLs'), errors);
  return rule;
}

/** `at`: the path that upstream names in errors, which has no index. */
function resourcesOf(given: FileResources, at: FieldPath, errors: FieldErrorList): GroupResources {
  const { group = '', resources = [], resourceNames = [] } = given;
  const problems = group === '' || group === '*' ? [] : isDNS1123Subdomain(group);
  if (problems.length > 0) errors.push(field.invalid(at.child('group'), group, problems.join(',')));
  if (resourceNames.length > 0 && resources.length === 0)
    errors.push(
      field.invalid(
        at.child('resourceNames'),
        resourceNames,
        'using resourceNames requires at least one resource',
      ),
    );
  return { group, resources, resourceNames };
}

function checkUrls(
  { nonResourceURLs, resources, namespaces }: AuditRule,
  at: FieldPath,
  errors: FieldErrorList,
): void {
  for (const [index, url] of nonResourceURLs.entries()) {
    if (url === '*') continue;
    if (!url.startsWith('/')) {
      const detail = "non-resource URL rules must begin with a '/' character";
      errors.push(field.invalid(at.index(index), url, detail));
    }
    if (url.slice(0, -1).includes('*')) {
      const detail = "non-resource URL wildcards '*' must be the final character of the rule";
      errors.push(field.invalid(at.index(index), url, detail));
    }
  }
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)) {
    const detail = 'rules cannot apply to both regular resources and non-resource URLs';
    errors.push(field.invalid(at, nonResourceURLs, detail));
  }
}

function levelOf(text: string, at: FieldPath, errors: FieldErrorList): AuditRule['level'] {
  const level = LEVELS.find((each) => each === text);
  if (text === '') errors.push(field.required(at));
  else if (level === undefined) errors.push(field.notSupported(at, text, LEVELS));
  return level ?? 'None';
}

function stagesOf(
  texts: readonly string[] = [],
  at: FieldPath,
  errors: FieldErrorList,
): AuditPolicy['omitStages'] {
  return texts.flatMap((text, index) => {
    const stage = STAGES.find((each) => each === text);
    if (stage !== undefined) return [stage];
    errors.push(field.invalid(at.index(index), text, `allowed stages are ${STAGES.join(',')}`));
    return [];
  });
}
