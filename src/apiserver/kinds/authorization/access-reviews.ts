// The review kinds of authorization.k8s.io, which check permissions. They are never stored.

import {
  type LocalSubjectAccessReview,
  localSubjectAccessReviews,
  type NonResourceAttributes,
  type ResourceAttributes,
  type SelfSubjectAccessReview,
  selfSubjectAccessReviews,
  type SelfSubjectRulesReview,
  selfSubjectRulesReviews,
  type SubjectAccessReview,
  subjectAccessReviews,
} from '#api/groups/authorization/v1/index.ts';
import {
  validateLocalSubjectAccessReview,
  validateSelfSubjectAccessReview,
  validateSubjectAccessReview,
} from '#api/groups/authorization/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import * as fields from '#machinery/selectors/fields.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import type { Attributes, Authorizer } from '#apiserver/authorization/authorizer.ts';
import { defineVirtualKind } from '#apiserver/catalog/define-kind.ts';
import { FreshObject } from '#apiserver/registry/encoded-object.ts';
import type { Rest } from '#apiserver/registry/rest.ts';
import type { UserInfo } from '#apiserver/request.ts';

interface WhatSpec {
  readonly resourceAttributes?: Immutable<ResourceAttributes>;
  readonly nonResourceAttributes?: Immutable<NonResourceAttributes>;
}

function selfSubjectAccessReview(authorizer: Authorizer): Rest {
  return {
    create: async (context, _name, object, { validate }) => {
      const review = object as Immutable<SelfSubjectAccessReview>;
      refuse(validateSelfSubjectAccessReview(review));
      await validate?.(review, undefined);
      return reviewAccess(authorizer, review, attributesOf(context.user, review.spec));
    },
  };
}

function subjectAccessReview(authorizer: Authorizer): Rest {
  return {
    create: async (_context, _name, object, { validate }) => {
      const review = object as Immutable<SubjectAccessReview>;
      refuse(validateSubjectAccessReview(review));
      await validate?.(review, undefined);
      return reviewAccess(authorizer, review, attributesOf(userOf(review.spec), review.spec));
    },
  };
}

function localSubjectAccessReview(authorizer: Authorizer): Rest {
  return {
    create: async (_context, _name, object, { validate }) => {
      const review = object as Immutable<LocalSubjectAccessReview>;
      const { spec } = review;
      refuse(validateLocalSubjectAccessReview(review));
      await validate?.(review, undefined);
      return reviewAccess(authorizer, review, attributesOf(userOf(spec), spec));
    },
  };
}

function selfSubjectRulesReview(authorizer: Authorizer): Rest {
  return {
    create: async (context, _name, object, { validate }) => {
      const review = object as Immutable<SelfSubjectRulesReview>;
      const namespace = review.spec.namespace ?? '';
      if (namespace === '') throw apierrors.badRequest('no namespace on request');
      await validate?.(review, undefined);
      const status = await authorizer.rulesFor(context.user, namespace);
      // As in upstream, the response has the status only.
      const { kind, apiVersion } = review;
      return new FreshObject({
        kind,
        apiVersion,
        metadata: {},
        spec: {},
        status,
      });
    },
  };
}

/** Throws for an invalid review. As upstream's, the error does not name the kind. */
function refuse(errors: FieldErrorList): void {
  if (errors.length > 0)
    throw apierrors.invalid({ group: 'authorization.k8s.io', kind: '' }, '', errors);
}

type WhoSpec = Immutable<SubjectAccessReview>['spec'];

function userOf({ user = '', groups = [], uid, extra }: WhoSpec): UserInfo {
  return {
    name: user,
    groups,
    ...(uid !== undefined && { uid }),
    ...(extra !== undefined && { extra }),
  };
}

function attributesOf(
  user: UserInfo,
  { resourceAttributes: resource, nonResourceAttributes: path }: WhatSpec,
): Attributes {
  return {
    user,
    isResourceRequest: resource !== undefined,
    path: path?.path ?? '',
    verb: resource?.verb ?? path?.verb ?? '',
    apiGroup: resource?.group ?? '',
    apiVersion: resource?.version ?? '*',
    namespace: resource?.namespace ?? '',
    resource: resource?.resource ?? '',
    subresource: resource?.subresource ?? '',
    name: resource?.name ?? '',
    fieldSelector: fieldSelectorOf(resource?.fieldSelector).text,
    labelSelector: labelSelectorOf(resource?.labelSelector).text,
  };
}

/** A selector as text. */
interface ReadSelector {
  /** Without what cannot be parsed. Absent: nothing is left. */
  readonly text?: string;
  /** Parts that cannot be parsed restrict nothing, so that more is reviewed than was asked. */
  readonly ignored?: 'completely' | 'partially';
}

const EVERYTHING: ReadSelector = {};

/** Requirements take precedence over the raw selector, as upstream. */
function fieldSelectorOf(selector: Immutable<ResourceAttributes>['fieldSelector']): ReadSelector {
  const { rawSelector = '', requirements = [] } = selector ?? {};
  if (requirements.length === 0) return rawOf(rawSelector, fields.parseSelector);
  return joined(
    requirements.map(({ key, operator, values = [] }) => {
      const sign = operator === 'In' ? '=' : operator === 'NotIn' ? '!=' : undefined;
      const [value] = values;
      return sign === undefined || value === undefined || values.length > 1
        ? undefined
        : `${key}${sign}${fields.escapeValue(value)}`;
    }),
  );
}

const LABEL_OPERATORS: Readonly<Record<string, labels.Operator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
};

function labelSelectorOf(selector: Immutable<ResourceAttributes>['labelSelector']): ReadSelector {
  const { rawSelector = '', requirements = [] } = selector ?? {};
  if (requirements.length === 0) return rawOf(rawSelector, labels.parse);
  return joined(
    requirements.map(({ key, operator, values = [] }) => {
      const known = ownValue(LABEL_OPERATORS, operator);
      if (known === undefined) return undefined;
      return labelTermOf(key, known, values);
    }),
  );
}

function labelTermOf(
  key: string,
  operator: labels.Operator,
  values: readonly string[],
): string | undefined {
  try {
    return labels.newRequirement(key, operator, values).toString();
  } catch (error) {
    if (error instanceof field.FieldErrorsError) return undefined;
    throw error;
  }
}

function rawOf(text: string, parse: (text: string) => unknown): ReadSelector {
  if (text === '') return EVERYTHING;
  try {
    parse(text);
    return { text };
  } catch (error) {
    if (error instanceof fields.FieldSelectorError || error instanceof labels.SelectorParseError)
      return { ignored: 'completely' };
    throw error;
  }
}

/** `terms`: undefined for a requirement that cannot be expressed. */
function joined(terms: readonly (string | undefined)[]): ReadSelector {
  const known = terms.filter((term) => term !== undefined);
  if (known.length === 0) return { ignored: 'completely' };
  return {
    text: known.join(','),
    ...(known.length < terms.length && { ignored: 'partially' }),
  };
}

/** Returns a message for each selector that is not taken into account as a whole. */
function ignoredSelectors({ spec }: { readonly spec?: WhatSpec }): readonly string[] {
  const { labelSelector, fieldSelector } = spec?.resourceAttributes ?? {};
  const message = (name: string, { ignored }: ReadSelector): readonly string[] =>
    ignored === undefined
      ? []
      : [
          `spec.resourceAttributes.${name} ${ignored === 'partially' ? 'partially ' : ''}` +
            'ignored due to parse error',
        ];
  return [
    ...message('fieldSelector', fieldSelectorOf(fieldSelector)),
    ...message('labelSelector', labelSelectorOf(labelSelector)),
  ];
}

async function reviewAccess(
  authorizer: Authorizer,
  review: object,
  attributes: Attributes,
): Promise<FreshObject> {
  const { decision, reason, error } = await authorizer.authorize(attributes);
  const problems = [...(error === undefined ? [] : [error]), ...ignoredSelectors(review)];
  const status = {
    allowed: decision === 'allow',
    ...(decision === 'deny' && { denied: true }),
    ...(reason !== '' && { reason }),
    ...(problems.length > 0 && { evaluationError: problems.join('; ') }),
  };
  return new FreshObject({ ...review, status });
}

/** The authorizer that decides about the reviews. */
export interface AccessReviewServices {
  readonly authorizer: Authorizer;
}

export const selfSubjectAccessReviewKind = defineVirtualKind<AccessReviewServices>({
  type: selfSubjectAccessReviews,
  rest: ({ authorizer }) => selfSubjectAccessReview(authorizer),
});

export const selfSubjectRulesReviewKind = defineVirtualKind<AccessReviewServices>({
  type: selfSubjectRulesReviews,
  rest: ({ authorizer }) => selfSubjectRulesReview(authorizer),
});

export const subjectAccessReviewKind = defineVirtualKind<AccessReviewServices>({
  type: subjectAccessReviews,
  rest: ({ authorizer }) => subjectAccessReview(authorizer),
});

export const localSubjectAccessReviewKind = defineVirtualKind<AccessReviewServices>({
  type: localSubjectAccessReviews,
  rest: ({ authorizer }) => localSubjectAccessReview(authorizer),
});
