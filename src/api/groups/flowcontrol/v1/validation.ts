// Validation of flow schemas and priority levels. Messages and paths are upstream's
// (pkg/apis/flowcontrol/validation).

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { invalidEach, nonEmpty } from '#api/groups/core/v1/validation/common.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { EXEMPT, FLOW_SCHEMAS, PRIORITY_LEVELS } from './bootstrap.ts';
import type * as flowcontrol from './types.ts';

type FlowSchema = Immutable<flowcontrol.FlowSchema>;
type PriorityLevel = Immutable<flowcontrol.PriorityLevelConfiguration>;
type Limited = Immutable<flowcontrol.LimitedPriorityLevelConfiguration>;
type Exempt = Immutable<flowcontrol.ExemptPriorityLevelConfiguration>;
type ResourceRule = Immutable<flowcontrol.ResourcePolicyRule>;

const SPEC = field.path('spec');
const VERBS = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'proxy',
  'update',
  'watch',
];
const SUBJECT_KINDS = ['Group', 'ServiceAccount', 'User'];
const DISTINGUISHERS = ['ByNamespace', 'ByUser'];
const MAX_PRECEDENCE = 10_000;
const MAX_QUEUES = 10_000_000;
/** The number of bits of the hash from which a hand of queues is dealt. */
const HASH_BITS = 60;
const NAMESPACE_INTRO = "each member of this list must be '*' or a DNS-1123 label; ";
const PERCENT = 'must be between 0 and 100, inclusive';
const NOT_NEGATIVE = 'must be a non-negative integer';

export function validateFlowSchema({
  metadata: { name = '' },
  spec,
  status,
}: FlowSchema): FieldErrorList {
  const errors = flowSchemaSpec(name, spec);
  const fixed = FLOW_SCHEMAS.find((schema) => schema.mandatory && schema.name === name);
  if (fixed !== undefined && !semanticEqual(spec, fixed.spec)) {
    errors.push(field.invalid(SPEC, spec, `spec of '${name}' must equal the fixed value`));
  }
  return [...errors, ...conditions(status.conditions)];
}

/** Validates the status of both kinds. */
export function validateFlowControlStatus({ status }: FlowSchema | PriorityLevel): FieldErrorList {
  return conditions(status.conditions);
}

function flowSchemaSpec(name: string, spec: FlowSchema['spec']): FieldErrorList {
  const errors: FieldErrorList = [];
  const {
    matchingPrecedence: precedence,
    distinguisherMethod,
    priorityLevelConfiguration: level,
  } = spec;
  const report = (message: string): void => {
    errors.push(field.invalid(SPEC.child('matchingPrecedence'), precedence, message));
  };
  if (precedence <= 0) report('must be a positive value');
  if (precedence > MAX_PRECEDENCE) report(`must not be greater than ${MAX_PRECEDENCE}`);
  if (precedence === 1 && name !== EXEMPT)
    report("only the schema named 'exempt' may have matchingPrecedence 1");
  if (distinguisherMethod !== undefined && !DISTINGUISHERS.includes(distinguisherMethod.type)) {
    errors.push(
      field.notSupported(
        SPEC.child('distinguisherMethod', 'type'),
        distinguisherMethod,
        DISTINGUISHERS,
      ),
    );
  }
  const at = SPEC.child('priorityLevelConfiguration', 'name');
  if (level.name === '') errors.push(field.required(at, 'must reference a priority level'));
  else errors.push(...invalidEach(at, level.name, validation.isDNS1123Subdomain(level.name)));
  spec.rules?.forEach((rule, index) =>
    errors.push(...rulesWithSubjects(rule, SPEC.child('rules').index(index))),
  );
  return errors;
}

function rulesWithSubjects(
  rule: Immutable<flowcontrol.PolicyRulesWithSubjects>,
  at: FieldPath,
): FieldErrorList {
  const { subjects, resourceRules = [], nonResourceRules = [] } = rule;
  return [
    ...(subjects.length === 0
      ? [field.required(at.child('subjects'), 'subjects must contain at least one value')]
      : []),
    ...subjects.flatMap((each, index) => subject(each, at.child('subjects').index(index))),
    ...(resourceRules.length === 0 && nonResourceRules.length === 0
      ? [
          field.required(
            at,
            'at least one of resourceRules and nonResourceRules has to be non-empty',
          ),
        ]
      : []),
    ...resourceRules.flatMap((each, index) =>
      resourceRule(each, at.child('resourceRules').index(index)),
    ),
    ...nonResourceRules.flatMap((each, index) =>
      nonResourceRule(each, at.child('nonResourceRules').index(index)),
    ),
  ];
}

function subject(each: Immutable<flowcontrol.Subject>, at: FieldPath): FieldErrorList {
  if (!SUBJECT_KINDS.includes(each.kind))
    return [field.notSupported(at.child('kind'), each.kind, SUBJECT_KINDS)];
  const own = `${each.kind.charAt(0).toLowerCase()}${each.kind.slice(1)}`;
  const value = { group: each.group, serviceAccount: each.serviceAccount, user: each.user };
  const errors =
    own === 'serviceAccount'
      ? serviceAccount(each.serviceAccount, at.child(own))
      : named(own === 'user' ? each.user : each.group, own, each.kind, at.child(own));
  // The order is upstream's.
  for (const [name, kind] of [
    ['serviceAccount', 'ServiceAccount'],
    ['user', 'User'],
    ['group', 'Group'],
  ] as const) {
    if (name === own || value[name] === undefined) continue;
    errors.push(
      field.forbidden(at.child(name), `${name} is forbidden when subject kind is not '${kind}'`),
    );
  }
  return errors;
}

function named(
  value: { readonly name: string } | undefined,
  own: string,
  kind: string,
  at: FieldPath,
): FieldErrorList {
  if (value === undefined)
    return [field.required(at, `${own} is required when subject kind is '${kind}'`)];
  return nonEmpty(value.name, at.child('name'));
}

function serviceAccount(
  account: Immutable<flowcontrol.ServiceAccountSubject> | undefined,
  at: FieldPath,
): FieldErrorList {
  const errors = named(account, 'serviceAccount', 'ServiceAccount', at);
  if (account === undefined) return errors;
  const { name, namespace } = account;
  if (name !== '' && name !== '*')
    errors.push(...invalidEach(at.child('name'), name, validation.isDNS1123Subdomain(name)));
  const path = at.child('namespace');
  if (namespace === '')
    errors.push(field.required(path, 'must specify namespace for service account'));
  else errors.push(...invalidEach(path, namespace, validation.isDNS1123Label(namespace)));
  return errors;
}

/** Requires at least one item; `*` must be the only one. */
function wildcardAlone(
  list: readonly string[],
  none: string,
  others: string,
  at: FieldPath,
): FieldErrorList {
  if (list.length === 0) return [field.required(at, none)];
  if (list.length === 1 || !list.includes('*')) return [];
  return [field.invalid(at, list, `if '*' is present, must not specify other ${others}`)];
}

function verbs(list: readonly string[], at: FieldPath): FieldErrorList {
  const errors = wildcardAlone(list, 'verbs must contain at least one value', 'verbs', at);
  if (list.includes('*') || list.every((verb) => VERBS.includes(verb))) return errors;
  return [...errors, field.notSupported(at, list, VERBS)];
}

function resourceRule(rule: ResourceRule, at: FieldPath): FieldErrorList {
  const errors = [
    ...verbs(rule.verbs, at.child('verbs')),
    ...wildcardAlone(
      rule.apiGroups,
      'resource rules must supply at least one api group',
      'api groups',
      at.child('apiGroups'),
    ),
    ...wildcardAlone(
      rule.resources,
      'resource rules must supply at least one resource',
      'resources',
      at.child('resources'),
    ),
  ];
  const namespaces = rule.namespaces ?? [];
  const path = at.child('namespaces');
  if (namespaces.length === 0 && rule.clusterScope === true) return errors;
  const none = 'resource rules that are not cluster scoped must supply at least one namespace';
  errors.push(...wildcardAlone(namespaces, none, 'namespaces', path));
  if (namespaces.includes('*')) return errors;
  return [
    ...errors,
    ...namespaces.flatMap((namespace, index) =>
      validation
        .isDNS1123Label(namespace)
        .map((problem) =>
          field.invalid(path.index(index), namespace, `${NAMESPACE_INTRO}${problem}`),
        ),
    ),
  ];
}

function nonResourceRule(
  rule: Immutable<flowcontrol.NonResourcePolicyRule>,
  at: FieldPath,
): FieldErrorList {
  const urls = rule.nonResourceURLs;
  const path = at.child('nonResourceURLs');
  const none = 'nonResourceURLs must contain at least one value';
  return [
    ...verbs(rule.verbs, at.child('verbs')),
    ...wildcardAlone(urls, none, 'non-resource URLs', path),
    ...(urls.includes('*')
      ? []
      : urls.flatMap((url, index) => {
          const problem = urlProblem(url);
          return problem === undefined ? [] : [field.invalid(path.index(index), url, problem)];
        })),
  ];
}

function urlProblem(path: string): string | undefined {
  if (path === '') return 'must not be empty';
  if (path === '/') return undefined;
  if (!path.startsWith('/')) return 'must start with slash';
  if (path.includes(' ')) return 'must not contain white-space';
  if (path.includes('//')) return 'must not contain double slash';
  const first = path.indexOf('*');
  return first < 0 || (first === path.length - 1 && path.endsWith('/*'))
    ? undefined
    : 'wildcard can only do suffix matching';
}

export function validatePriorityLevelConfiguration({
  metadata: { name = '' },
  spec,
  status,
}: PriorityLevel): FieldErrorList {
  const errors = priorityLevelSpec(name, spec);
  const fixed = PRIORITY_LEVELS.find((level) => level.mandatory && level.name === name);
  if (fixed !== undefined) {
    // Users may change how much of the exempt level is lent.
    const isExempt = name === EXEMPT;
    const { exempt: _, ...own } = spec;
    const { exempt: __, ...wanted } = fixed.spec;
    if (!semanticEqual(isExempt ? own : spec, isExempt ? wanted : fixed.spec)) {
      const except = isExempt ? " except the 'spec.exempt' field" : '';
      errors.push(
        field.invalid(SPEC, spec, `spec of '${name}'${except} must equal the fixed value`),
      );
    }
  }
  return [...errors, ...conditions(status.conditions)];
}

function priorityLevelSpec(
  name: string,
  { type, limited, exempt }: PriorityLevel['spec'],
): FieldErrorList {
  const errors: FieldErrorList = [];
  if ((name === EXEMPT) !== (type === 'Exempt')) {
    errors.push(
      field.invalid(SPEC.child('type'), type, "must be 'Exempt' if and only if `name` is 'exempt'"),
    );
  }
  switch (type) {
    case 'Exempt':
      if (limited !== undefined)
        errors.push(
          field.forbidden(SPEC.child('limited'), 'must be nil if the type is not Limited'),
        );
      if (exempt !== undefined) errors.push(...exemptLevel(exempt, SPEC.child('exempt')));
      break;
    case 'Limited':
      if (exempt !== undefined)
        errors.push(field.forbidden(SPEC.child('exempt'), 'must be nil if the type is Limited'));
      if (limited === undefined)
        errors.push(
          field.required(SPEC.child('limited'), 'must not be empty when type is Limited'),
        );
      else errors.push(...limitedLevel(limited, SPEC.child('limited')));
      break;
    case '':
      errors.push(field.required(SPEC.child('type')));
      break;
    default:
      errors.push(field.notSupported(SPEC.child('type'), type, ['Exempt', 'Limited']));
  }
  return errors;
}

function exemptLevel(level: Exempt, at: FieldPath): FieldErrorList {
  const { nominalConcurrencyShares: shares = 0, lendablePercent } = level;
  return [
    ...(shares < 0
      ? [field.invalid(at.child('nominalConcurrencyShares'), shares, NOT_NEGATIVE)]
      : []),
    ...percent(lendablePercent, at.child('lendablePercent')),
  ];
}

function limitedLevel(level: Limited, at: FieldPath): FieldErrorList {
  const { borrowingLimitPercent: borrowing = 0, lendablePercent } = level;
  const shares = level.nominalConcurrencyShares ?? 0;
  return [
    ...(shares < 0
      ? [field.invalid(at.child('nominalConcurrencyShares'), shares, NOT_NEGATIVE)]
      : []),
    ...limitResponse(level.limitResponse, at.child('limitResponse')),
    ...percent(lendablePercent, at.child('lendablePercent')),
    ...(borrowing < 0
      ? [
          field.invalid(
            at.child('borrowingLimitPercent'),
            borrowing,
            `if specified, ${NOT_NEGATIVE}`,
          ),
        ]
      : []),
  ];
}

function percent(value: number | undefined, at: FieldPath): FieldErrorList {
  return value !== undefined && (value < 0 || value > 100)
    ? [field.invalid(at, value, PERCENT)]
    : [];
}

function limitResponse({ type, queuing }: Limited['limitResponse'], at: FieldPath): FieldErrorList {
  const path = at.child('queuing');
  switch (type) {
    case 'Reject':
      return queuing === undefined
        ? []
        : [field.forbidden(path, 'must be nil if limited.limitResponse.type is not Limited')];
    case 'Queue':
      if (queuing === undefined)
        return [field.required(path, 'must not be empty if limited.limitResponse.type is Limited')];
      return queues(queuing, path);
    case '':
      return [field.required(at.child('type'))];
    default:
      return [field.notSupported(at.child('type'), type, ['Queue', 'Reject'])];
  }
}

function queues(
  queuing: Immutable<flowcontrol.QueuingConfiguration>,
  at: FieldPath,
): FieldErrorList {
  const { queues: count, handSize, queueLengthLimit } = queuing;
  const invalid = (name: keyof typeof queuing, message: string): FieldErrorList => [
    field.invalid(at.child(name), queuing[name], message),
  ];
  const errors = queueLengthLimit <= 0 ? invalid('queueLengthLimit', 'must be positive') : [];
  if (count <= 0) errors.push(...invalid('queues', 'must be positive'));
  else if (count > MAX_QUEUES)
    errors.push(...invalid('queues', `must not be greater than ${MAX_QUEUES}`));
  if (handSize <= 0) errors.push(...invalid('handSize', 'must be positive'));
  else if (handSize > count)
    errors.push(...invalid('handSize', `should not be greater than queues (${count})`));
  else if (Math.ceil(Math.log2(count) * handSize) > HASH_BITS) {
    const message =
      `required entropy bits of deckSize ${count} and handSize ${handSize} should not be ` +
      `greater than ${HASH_BITS}`;
    errors.push(...invalid('handSize', message));
  }
  return errors;
}

function conditions(list: readonly { readonly type?: string }[] = []): FieldErrorList {
  const seen = new Set<string>();
  return list.flatMap(({ type = '' }, index) => {
    const at = field.path('status', 'conditions').index(index).child('type');
    const errors = seen.has(type) ? [field.duplicate(at, type)] : [];
    seen.add(type);
    if (type === '') errors.push(field.required(at));
    return errors;
  });
}
