// Authorization by functions of this process: what a webhook of the mode Webhook would decide from
// a SubjectAccessReview.

import type {
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from '#api/groups/authorization/v1/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { accessReviewSpec } from './access-review.ts';
import {
  type Attributes,
  type Authorizer,
  type Decision,
  NO_OPINION,
  type RulesAnswer,
} from './authorizer.ts';

type Status = Pick<SubjectAccessReviewStatus, 'allowed'> & Partial<SubjectAccessReviewStatus>;

/** Returns the status of a review of the access. Neither allowed nor denied: no opinion. */
export type AccessReviewer = (spec: SubjectAccessReviewSpec) => Status | Promise<Status>;

export interface LocalAuthorization {
  readonly name: string;
  readonly review: AccessReviewer;
  /** The decision when `review` fails. */
  readonly failurePolicy: 'NoOpinion' | 'Deny';
}

export class LocalAuthorizer implements Authorizer {
  readonly #reviewers = new Set<LocalAuthorization>();

  /**
   * Asked after those that were added before. Returns a function that removes it, which is
   * idempotent.
   */
  add(authorization: LocalAuthorization): () => void {
    this.#reviewers.add(authorization);
    return () => void this.#reviewers.delete(authorization);
  }

  /** Returns the same reviewers, independent of these. */
  copy(): LocalAuthorizer {
    const copy = new LocalAuthorizer();
    for (const reviewer of this.#reviewers) copy.#reviewers.add(reviewer);
    return copy;
  }

  authorize(attributes: Attributes): Decision | Promise<Decision> {
    return this.#reviewers.size === 0 ? NO_OPINION : this.#ask(attributes);
  }

  /** As upstream's webhook authorizer, cannot list rules. */
  rulesFor(): RulesAnswer {
    return { resourceRules: [], nonResourceRules: [], incomplete: this.#reviewers.size > 0 };
  }

  async #ask(attributes: Attributes): Promise<Decision> {
    const spec = accessReviewSpec(attributes);
    const reasons: string[] = [];
    for (const authorization of this.#reviewers) {
      const { decision, reason } = await decide(authorization, spec);
      if (decision !== 'noOpinion') return { decision, reason };
      if (reason !== '') reasons.push(reason);
    }
    return { decision: 'noOpinion', reason: reasons.join('\n') };
  }
}

async function decide(
  { name, review, failurePolicy }: LocalAuthorization,
  spec: SubjectAccessReviewSpec,
): Promise<Decision> {
  let status: Status;
  try {
    status = await review(spec);
  } catch (error) {
    const reason = `webhook authorizer ${name}: ${errorMessage(error)}`;
    return { decision: failurePolicy === 'Deny' ? 'deny' : 'noOpinion', reason };
  }
  const { allowed, denied = false, reason = '' } = status;
  if (allowed && denied) {
    const both = `webhook authorizer ${name} provided response with both allow and deny`;
    return { decision: failurePolicy === 'Deny' ? 'deny' : 'noOpinion', reason: both };
  }
  return { decision: allowed ? 'allow' : denied ? 'deny' : 'noOpinion', reason };
}
