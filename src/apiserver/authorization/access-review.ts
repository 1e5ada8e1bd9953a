// The specification of a SubjectAccessReview for the attributes of a request.

import type {
  ResourceAttributes,
  SubjectAccessReviewSpec,
} from '#api/groups/authorization/v1/index.ts';
import * as fields from '#machinery/selectors/fields.ts';
import * as labels from '#machinery/selectors/labels.ts';
import type { Attributes } from './authorizer.ts';

/**
 * Returns the specification. Selectors that cannot be parsed are left out: they restrict nothing,
 * so the review is about more than the request.
 */
export function accessReviewSpec(attributes: Attributes): SubjectAccessReviewSpec {
  const { user, verb, path } = attributes;
  const { name, uid, groups, extra } = user;
  const who = {
    user: name,
    groups: [...groups],
    ...(extra !== undefined && {
      extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])),
    }),
    ...(uid !== undefined && { uid }),
  };
  if (!attributes.isResourceRequest) return { nonResourceAttributes: { path, verb }, ...who };
  const fieldRequirements = fieldRequirementsOf(attributes.fieldSelector);
  const labelRequirements = labelRequirementsOf(attributes.labelSelector);
  return {
    resourceAttributes: {
      namespace: attributes.namespace,
      verb,
      group: attributes.apiGroup,
      version: attributes.apiVersion,
      resource: attributes.resource,
      subresource: attributes.subresource,
      name: attributes.name,
      ...(fieldRequirements.length > 0 && { fieldSelector: { requirements: fieldRequirements } }),
      ...(labelRequirements.length > 0 && { labelSelector: { requirements: labelRequirements } }),
    },
    ...who,
  };
}

type FieldRequirements = NonNullable<
  NonNullable<ResourceAttributes['fieldSelector']>['requirements']
>;
type LabelRequirements = NonNullable<
  NonNullable<ResourceAttributes['labelSelector']>['requirements']
>;

function fieldRequirementsOf(text: string | undefined): FieldRequirements {
  if (text === undefined || text === '') return [];
  try {
    return fields
      .parseSelector(text)
      .requirements()
      .map(({ field, operator, value }) => ({
        key: field,
        operator: operator === '=' ? 'In' : 'NotIn',
        values: [value],
      }));
  } catch (error) {
    if (error instanceof fields.FieldSelectorError) return [];
    throw error;
  }
}

const LABEL_OPERATORS: Readonly<Partial<Record<labels.Operator, string>>> = {
  '=': 'In',
  '==': 'In',
  in: 'In',
  '!=': 'NotIn',
  notin: 'NotIn',
  exists: 'Exists',
  '!': 'DoesNotExist',
};

/** Reviews have no operators for comparisons of numbers, so those are left out. */
function labelRequirementsOf(text: string | undefined): LabelRequirements {
  if (text === undefined || text === '') return [];
  try {
    return (labels.parse(text).requirements() ?? []).flatMap(({ key, operator, values }) => {
      const named = LABEL_OPERATORS[operator];
      if (named === undefined) return [];
      return [{ key, operator: named, ...(values.length > 0 && { values: [...values] }) }];
    });
  } catch (error) {
    if (error instanceof labels.SelectorParseError) return [];
    throw error;
  }
}
