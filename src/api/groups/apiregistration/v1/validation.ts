// Validation of API services. Messages and paths are upstream's (kube-aggregator
// pkg/apis/apiregistration/validation).

import { quote } from '#machinery/text/go-format.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { invalidEach, nonEmpty } from '#api/groups/core/v1/validation/common.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { pathSegmentName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import type * as apiregistration from './types.ts';

type APIService = Immutable<apiregistration.APIService>;

const SPEC = field.path('spec');
const STATUSES = ['True', 'False', 'Unknown'];
const MAX_GROUP_PRIORITY = 20_000;
const MAX_VERSION_PRIORITY = 1000;

export function validateAPIService({ metadata, spec }: APIService): FieldErrorList {
  const {
    group = '',
    version = '',
    groupPriorityMinimum,
    versionPriority,
    service,
    caBundle,
    insecureSkipTLSVerify,
  } = spec;
  const errors: FieldErrorList = [];
  const expectedName = `${version}.${group}`;
  // A prefix is not used, and must be the name, too.
  for (const key of ['name', 'generateName'] as const) {
    const value = metadata[key] ?? '';
    if (value === '' || value === expectedName) continue;
    if (pathSegmentName(value, false).length > 0) continue;
    const message = `must be \`spec.version+"."+spec.group\`: ${quote(expectedName)}`;
    errors.push(field.invalid(field.path('metadata', key), value, message));
  }
  if (group === '' && version !== 'v1') {
    errors.push(
      field.required(
        SPEC.child('group'),
        'only v1 may have an empty group and it better be legacy kube',
      ),
    );
  }
  if (group !== '')
    errors.push(...invalidEach(SPEC.child('group'), group, validation.isDNS1123Subdomain(group)));
  errors.push(...invalidEach(SPEC.child('version'), version, validation.isDNS1035Label(version)));
  const inRange = (
    at: 'groupPriorityMinimum' | 'versionPriority',
    value: number,
    max: number,
  ): FieldErrorList =>
    value > 0 && value <= max
      ? []
      : [field.invalid(SPEC.child(at), value, `must be positive and less than ${max}`)];
  errors.push(
    ...inRange('groupPriorityMinimum', groupPriorityMinimum, MAX_GROUP_PRIORITY),
    ...inRange('versionPriority', versionPriority, MAX_VERSION_PRIORITY),
  );
  const skips = insecureSkipTLSVerify === true;
  const insecure = (message: string): FieldErrorList => [
    field.invalid(SPEC.child('insecureSkipTLSVerify'), true, message),
  ];
  if (service === undefined) {
    if (caBundle !== undefined) {
      const bytes = `${Buffer.from(caBundle, 'base64').length} bytes`;
      errors.push(
        field.invalid(SPEC.child('caBundle'), bytes, 'local APIServices may not have a caBundle'),
      );
    }
    return [
      ...errors,
      ...(skips ? insecure('local APIServices may not have insecureSkipTLSVerify') : []),
    ];
  }
  const problems = validation.isValidPortNum(service.port ?? 0);
  return [
    ...errors,
    ...nonEmpty(service.namespace, SPEC.child('service', 'namespace')),
    ...nonEmpty(service.name, SPEC.child('service', 'name')),
    ...(problems.length === 0
      ? []
      : [
          field.invalid(
            SPEC.child('service', 'port'),
            service.port ?? 0,
            `port is not valid: ${problems.join(', ')}`,
          ),
        ]),
    ...(skips && caBundle !== undefined ? insecure('may not be true if caBundle is present') : []),
  ];
}

export function validateAPIServiceStatus({ status }: APIService): FieldErrorList {
  return (status.conditions ?? []).flatMap(({ status: value }, index) =>
    STATUSES.includes(value)
      ? []
      : [
          field.notSupported(
            field.path('status', 'conditions').index(index).child('status'),
            value,
            STATUSES,
          ),
        ],
  );
}
