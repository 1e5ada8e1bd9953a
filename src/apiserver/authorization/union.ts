// Combines authorizers: the first one that allows or denies decides.

import { joinMessages } from '#machinery/validation/field.ts';
import type { UserInfo } from '../request.ts';
import type {
  Attributes,
  AuthorizationCaller,
  Authorizer,
  Decision,
  RulesAnswer,
} from './authorizer.ts';

/** A question that goes from authorizer to authorizer, with what they have answered so far. */
interface Question {
  readonly attributes: Attributes;
  readonly caller: AuthorizationCaller | undefined;
  /** The reasons, one a line. */
  reason: string;
  errors: Set<string> | undefined;
}

/** Records the answer, and reports whether it decides. */
function isFinal({ decision, reason, error }: Decision, question: Question): boolean {
  if (decision !== 'noOpinion') return true;
  if (reason !== '') question.reason += question.reason === '' ? reason : `\n${reason}`;
  if (error !== undefined) question.errors = (question.errors ?? new Set()).add(error);
  return false;
}

export class UnionAuthorizer implements Authorizer {
  readonly #authorizers: readonly Authorizer[];

  constructor(authorizers: readonly Authorizer[]) {
    this.#authorizers = authorizers;
  }

  authorize(attributes: Attributes, caller?: AuthorizationCaller): Decision | Promise<Decision> {
    return this.#ask({ attributes, caller, reason: '', errors: undefined }, 0);
  }

  /**
   * Calls the authorizers in order. Returns synchronously as long as they do, since every request
   * passes here.
   */
  #ask(question: Question, from: number): Decision | Promise<Decision> {
    for (let n = from; n < this.#authorizers.length; n++) {
      const decided = this.#authorizers[n]!.authorize(question.attributes, question.caller);
      if (decided instanceof Promise)
        return decided.then((decision) =>
          isFinal(decision, question) ? decision : this.#ask(question, n + 1),
        );
      if (isFinal(decided, question)) return decided;
    }
    const { reason, errors } = question;
    return {
      decision: 'noOpinion',
      reason,
      ...(errors !== undefined && { error: joinMessages(errors) }),
    };
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
