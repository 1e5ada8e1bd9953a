// The authorizers AlwaysAllow and AlwaysDeny.

import type { UserInfo } from '../request.ts';
import { ALLOW, type Authorizer, type RulesAnswer } from './authorizer.ts';

/** Allows everything to every user. For tests. */
export const alwaysAllow: Authorizer = {
  authorize: () => ALLOW,
  rulesFor: (_user: UserInfo): RulesAnswer => ({
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
    incomplete: false,
  }),
};

/**
 * Allows nothing, as upstream's mode of this name. A later authorizer may still allow the request.
 */
export const alwaysDeny: Authorizer = {
  authorize: () => ({ decision: 'noOpinion', reason: 'Everything is forbidden.' }),
  rulesFor: (): RulesAnswer => ({ resourceRules: [], nonResourceRules: [], incomplete: false }),
};
