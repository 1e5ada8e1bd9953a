// The user as which the server itself acts: as its own client, and towards kubelets.

import type { UserInfo } from './request.ts';

/** The user of upstream's loopback client. */
export const API_SERVER_USER: UserInfo = { name: 'system:apiserver', groups: ['system:masters'] };
