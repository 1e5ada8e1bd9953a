// Combines authorizers: the first one that allows or denies decides.

import type { UserInfo } from '../request.ts';
import type { Attributes, Authorizer, Decision, RulesAnswer } from './authorizer.ts';

export class UnionAuthorizer implements Authorizer {
  readonly #authorizers: readonly Authorizer[];

  constructor(authorizers: readonly Authorizer[]) {
    this.#authorizers = authorizers;
  }

  authorize(attributes: Attributes): Decision | Promise<Decision> {
    return this.#ask(attributes, 0, []);
  }

  /**
   * Calls the authorizers in order. Returns synchronously as long as they do, since every request
   * passes here.
   */
  #ask(
    attributes: Attributes,
    from: number,
    reasons: readonly string[],
  ): Decision | Promise<Decision> {
    let allReasons = reasons;
    for (let n = from; n < this.#authorizers.length; n++) {
      const decided = this.#authorizers[n]!.authorize(attributes);
      if (decided instanceof Promise)
        return decided.then((decision) => this.#next(decision, attributes, n, allReasons));
      if (decided.decision !== 'noOpinion') return decided;
      if (decided.reason !== '') allReasons = [...allReasons, decided.reason];
    }
    return { decision: 'noOpinion', reason: allReasons.join('\n') };
  }

  #next(
    decision: Decision,
    attributes: Attributes,
    n: number,
    said: readonly string[],
  ): Decision | Promise<Decision> {
    if (decision.decision !== 'noOpinion') return decision;
    return this.#ask(attributes, n + 1, decision.reason === '' ? said : [...said, decision.reason]);
  }

  async rulesFor(user: UserInfo, namespace: string): Promise<RulesAnswer> {
    const rulesOfEach = await Promise.all(
      this.#authorizers.map(async (authorizer) => authorizer.rulesFor(user, namespace)),
    );
    const problems = rulesOfEach.flatMap(({ evaluationError = [] }) => evaluationError);
    return {
      resourceRules: rulesOfEach.flatMap(({ resourceRules }) => resourceRules),
      nonResourceRules: rulesOfEach.flatMap(({ nonResourceRules }) => nonResourceRules),
      incomplete: rulesOfEach.some(({ incomplete }) => incomplete),
      ...(problems.length > 0 && { evaluationError: problems.join(', ') }),
    };
  }
}
