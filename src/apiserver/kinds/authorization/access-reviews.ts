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
    fieldSelector: selectorOf(resource?.fieldSelector),
  };
}

/**
 * Returns the selector as text. Requirements other than equality and inequality with one value are
 * left out, as upstream: they restrict too little to be relied on.
 */
function selectorOf(selector: Immutable<ResourceAttributes>['fieldSelector']): string | undefined {
  if (selector === undefined) return undefined;
  const { rawSelector, requirements = [] } = selector;
  if (rawSelector !== undefined) return rawSelector;
  const terms = requirements.flatMap(({ key, operator, values = [] }) => {
    const sign = operator === 'In' ? '=' : operator === 'NotIn' ? '!=' : undefined;
    const [value] = values;
    return sign === undefined || value === undefined || values.length > 1
      ? []
      : `${key}${sign}${fields.escapeValue(value)}`;
  });
  return terms.join(',');
}

const OPERATORS: ReadonlySet<string> = new Set(['In', 'NotIn', 'Exists', 'DoesNotExist']);

/** Returns a message for each selector that cannot be parsed, and restricts nothing therefore. */
function ignoredSelectors({ spec }: { readonly spec?: WhatSpec }): readonly string[] {
  const { labelSelector, fieldSelector } = spec?.resourceAttributes ?? {};
  const message = (name: string): string =>
    `spec.resourceAttributes.${name} ignored due to parse error`;
  return [
    ...(isWrong(labelSelector, labels.parse) ? [message('labelSelector')] : []),
    ...(isWrong(fieldSelector, fields.parseSelector) ? [message('fieldSelector')] : []),
  ];
}

interface GivenSelector {
  readonly rawSelector?: string;
  readonly requirements?: readonly { readonly operator: string }[];
}

function isWrong(selector: GivenSelector | undefined, parse: (text: string) => unknown): boolean {
  const { rawSelector = '', requirements = [] } = selector ?? {};
  if (requirements.some(({ operator }) => !OPERATORS.has(operator))) return true;
  try {
    parse(rawSelector);
    return false;
  } catch {
    return true;
  }
}

async function reviewAccess(
  authorizer: Authorizer,
  review: object,
  attributes: Attributes,
): Promise<FreshObject> {
  const { decision, reason } = await authorizer.authorize(attributes);
  const ignored = ignoredSelectors(review);
  const status = {
    allowed: decision === 'allow',
    ...(decision === 'deny' && { denied: true }),
    ...(reason !== '' && { reason }),
    ...(ignored.length > 0 && { evaluationError: ignored.join(', ') }),
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
