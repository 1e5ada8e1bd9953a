// Allows everything to members of system:masters, regardless of roles, so that a mistake in roles
// does not lock administrators out.

import type { UserInfo } from '../request.ts';
import {
  ALLOW,
  type Attributes,
  type Authorizer,
  type Decision,
  NO_OPINION,
  type RulesAnswer,
} from './authorizer.ts';

export const PRIVILEGED_GROUP = 'system:masters';

export const privilegedAuthorizer: Authorizer = {
  authorize({ user }: Attributes): Decision {
    return user.groups.includes(PRIVILEGED_GROUP) ? ALLOW : NO_OPINION;
  },
  rulesFor({ groups }: UserInfo): RulesAnswer {
    const is = groups.includes(PRIVILEGED_GROUP);
    return {
      resourceRules: is ? [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] : [],
      nonResourceRules: is ? [{ verbs: ['*'], nonResourceURLs: ['*'] }] : [],
      incomplete: false,
    };
  },
};
