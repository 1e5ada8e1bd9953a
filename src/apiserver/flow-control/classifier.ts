// Finds the flow of a request: the first FlowSchema, in the order of precedence, that matches the
// request and its user.
//
// The schemas whose subjects match a user are computed once for each UserInfo object, which
// authentication reuses, and which components of this process keep. A change of the configuration
// replaces the classifier, and with it these results.

import type { ApiRequest, RequestInfo, UserInfo } from '../request.ts';
import type { Flow } from './flow.ts';
import { matchesRequest, matchesSubjects, type PolicyRules } from './rules.ts';

interface Candidate {
  readonly flow: Flow;
  /** The rules of the flow's schema whose subjects include the user. */
  readonly rules: readonly PolicyRules[];
}

const NOBODY: UserInfo = { name: '', groups: [] };

export class Classifier {
  readonly #flows: readonly Flow[];
  readonly #fallback: Flow;
  readonly #candidates = new WeakMap<UserInfo, readonly Candidate[]>();

  /**
   * Creates a classifier. `flows`: in the order of precedence. `fallback`: for requests that match
   * none of them.
   */
  constructor(flows: readonly Flow[], fallback: Flow) {
    this.#flows = flows;
    this.#fallback = fallback;
  }

  flowOf({ info, user = NOBODY }: Pick<ApiRequest, 'info' | 'user'>): Flow {
    let candidates = this.#candidates.get(user);
    if (candidates === undefined) {
      candidates = this.#candidatesOf(user);
      this.#candidates.set(user, candidates);
    }
    for (const { flow, rules } of candidates)
      for (const rule of rules) if (matchesRequest(rule, info)) return flow;
    return this.#fallback;
  }

  #candidatesOf(user: UserInfo): readonly Candidate[] {
    return this.#flows.flatMap((flow) => {
      const rules = flow.rules.filter(({ subjects }) => matchesSubjects(subjects, user));
      return rules.length === 0 ? [] : [{ flow, rules }];
    });
  }
}

/** Returns what separates the flows of one schema: the user, the namespace, or nothing. */
export function distinguisherOf(
  method: string | undefined,
  info: RequestInfo,
  user: UserInfo | undefined,
): string {
  switch (method) {
    case 'ByUser':
      return user?.name ?? '';
    case 'ByNamespace':
      return info.namespace;
    default:
      return '';
  }
}
