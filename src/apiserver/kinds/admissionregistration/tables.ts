// Tables of webhook configurations, admission policies and their bindings.

import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatLabelSelector } from '#machinery/selectors/labels.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

const UNSET = '<unset>';
const PARAM_KIND = column('ParamKind', 'The kind of the parameter objects.');

type ParamKind = Immutable<admission.ParamKind>;
const kindOf = (kind: ParamKind | undefined): string =>
  kind === undefined ? UNSET : `${kind.apiVersion ?? ''}/${kind.kind ?? ''}`;

/** The table of both kinds of configurations. */
export const webhookConfigurationTable: TableConvertor<
  Immutable<admission.ValidatingWebhookConfiguration | admission.MutatingWebhookConfiguration>
> = {
  columns: [NAME, column('Webhooks', 'Number of webhooks.', { type: 'integer' }), AGE],
  cells: ({ metadata, webhooks = [] }, now) => [
    metadata.name,
    webhooks.length,
    since(metadata.creationTimestamp, now),
  ],
};

export const validatingPolicyTable: TableConvertor<Immutable<admission.ValidatingAdmissionPolicy>> =
  {
    columns: [
      NAME,
      column('Validations', 'Number of validations.', { type: 'integer' }),
      PARAM_KIND,
      AGE,
    ],
    cells: ({ metadata, spec }, now) => [
      metadata.name,
      spec.validations?.length ?? 0,
      kindOf(spec.paramKind),
      since(metadata.creationTimestamp, now),
    ],
  };

export const mutatingPolicyTable: TableConvertor<Immutable<admission.MutatingAdmissionPolicy>> = {
  columns: [
    NAME,
    column('Mutations', 'Number of mutations.', { type: 'integer' }),
    PARAM_KIND,
    AGE,
  ],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec.mutations?.length ?? 0,
    kindOf(spec.paramKind),
    since(metadata.creationTimestamp, now),
  ],
};

/** The table of both kinds of bindings. */
export const policyBindingTable: TableConvertor<
  Immutable<admission.ValidatingAdmissionPolicyBinding | admission.MutatingAdmissionPolicyBinding>
> = {
  columns: [
    NAME,
    column('PolicyName', 'The bound policy.'),
    column('ParamRef', 'The reference to the parameter objects.'),
    AGE,
  ],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec.policyName ?? '',
    parameters(spec.paramRef),
    since(metadata.creationTimestamp, now),
  ],
};

function parameters(ref: Immutable<admission.ParamRef> | undefined): string {
  const { name = '', namespace = '', selector } = ref ?? {};
  // The binding does not show whether the parameters are namespaced.
  if (name !== '') return `${namespace === '' ? '*' : namespace}/${name}`;
  return selector === undefined ? UNSET : formatLabelSelector(selector);
}
