// The review kinds of authorization.k8s.io: may somebody do something? They are asked, never stored.

import {
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
} from '../../../api/authorization/v1/index.ts';
import type {
  LocalSubjectAccessReview,
  NonResourceAttributes,
  ResourceAttributes,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
} from '../../../api/authorization/v1/index.ts';
import type { Immutable } from '../../../api/meta/v1/index.ts';
import * as apierrors from '../../../machinery/apierrors.ts';
import { FieldPath } from '../../../machinery/field.ts';
import type { FieldErrorList } from '../../../machinery/field.ts';
import * as field from '../../../machinery/field.ts';
import type { Attributes, Authorizer } from '../../authorization/authorizer.ts';
import type { UserInfo } from '../../request.ts';
import { FreshObject } from '../encoded-object.ts';
import type { Rest, ServedResource } from '../rest.ts';

const SPEC = new FieldPath('spec');

export function accessReviewResources({ authorizer }: { readonly authorizer: Authorizer }): readonly ServedResource[] {
  return [
    { type: selfSubjectAccessReviews, rest: selfSubjectAccessReview(authorizer) },
    { type: selfSubjectRulesReviews, rest: selfSubjectRulesReview(authorizer) },
    { type: subjectAccessReviews, rest: subjectAccessReview(authorizer) },
    { type: localSubjectAccessReviews, rest: localSubjectAccessReview(authorizer) },
  ];
}

interface WhatSpec {
  readonly resourceAttributes?: Immutable<ResourceAttributes>;
  readonly nonResourceAttributes?: Immutable<NonResourceAttributes>;
}

function selfSubjectAccessReview(authorizer: Authorizer): Rest {
  return {
    create: async (context, _name, object) => {
      const review = object as Immutable<SelfSubjectAccessReview>;
      refuse('SelfSubjectAccessReview', validateWhat(review.spec));
      return answer(authorizer, review, attributesOf(context.user, review.spec));
    },
  };
}

function subjectAccessReview(authorizer: Authorizer): Rest {
  return {
    create: async (_context, _name, object) => {
      const review = object as Immutable<SubjectAccessReview>;
      refuse('SubjectAccessReview', [...validateWhat(review.spec), ...validateWho(review.spec)]);
      return answer(authorizer, review, attributesOf(userOf(review.spec), review.spec));
    },
  };
}

function localSubjectAccessReview(authorizer: Authorizer): Rest {
  return {
    create: async (context, _name, object) => {
      const review = object as Immutable<LocalSubjectAccessReview>;
      const { spec } = review;
      const errors = [...validateWhat(spec), ...validateWho(spec)];
      if (spec.resourceAttributes !== undefined && (spec.resourceAttributes.namespace ?? '') !== context.namespace) {
        const at = SPEC.child('resourceAttributes', 'namespace');
        errors.push(field.invalid(at, spec.resourceAttributes.namespace ?? '', 'must match metadata.namespace'));
      }
      if (spec.nonResourceAttributes !== undefined) {
        const message = 'disallowed on this kind of request';
        errors.push(field.invalid(SPEC.child('nonResourceAttributes'), spec.nonResourceAttributes, message));
      }
      refuse('LocalSubjectAccessReview', errors);
      return answer(authorizer, review, attributesOf(userOf(spec), spec));
    },
  };
}

function selfSubjectRulesReview(authorizer: Authorizer): Rest {
  return {
    create: async (context, _name, object) => {
      const review = object as Immutable<SelfSubjectRulesReview>;
      const namespace = review.spec.namespace ?? '';
      if (namespace === '') throw apierrors.badRequest('no namespace on request');
      const { resourceRules, nonResourceRules, incomplete } = await authorizer.rulesFor(context.user, namespace);
      return new FreshObject({ ...review, status: { resourceRules, nonResourceRules, incomplete } });
    },
  };
}

function refuse(kind: string, errors: FieldErrorList): void {
  if (errors.length > 0) throw apierrors.invalid({ group: 'authorization.k8s.io', kind }, '', errors);
}

function validateWhat(spec: WhatSpec): FieldErrorList {
  const { resourceAttributes, nonResourceAttributes } = spec;
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    const message = 'cannot be specified in combination with resourceAttributes';
    return [field.invalid(SPEC.child('nonResourceAttributes'), nonResourceAttributes, message)];
  }
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    const message = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    return [field.invalid(SPEC.child('resourceAttributes'), null, message)];
  }
  return [];
}

function validateWho({
  user = '',
  groups = [],
}: {
  readonly user?: string;
  readonly groups?: readonly string[];
}): FieldErrorList {
  if (user !== '' || groups.length > 0) return [];
  return [field.invalid(SPEC.child('user'), user, 'at least one of user or group must be specified')];
}

type WhoSpec = Immutable<SubjectAccessReview>['spec'];

function userOf({ user = '', groups = [], uid, extra }: WhoSpec): UserInfo {
  return { name: user, groups, ...(uid !== undefined && { uid }), ...(extra !== undefined && { extra }) };
}

function attributesOf(user: UserInfo, { resourceAttributes: resource, nonResourceAttributes: path }: WhatSpec): Attributes {
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
  };
}

async function answer(authorizer: Authorizer, review: object, attributes: Attributes): Promise<FreshObject> {
  const { decision, reason } = await authorizer.authorize(attributes);
  const status = {
    allowed: decision === 'allow',
    ...(decision === 'deny' && { denied: true }),
    ...(reason !== '' && { reason }),
  };
  return new FreshObject({ ...review, status });
}
