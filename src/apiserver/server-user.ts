// The identity under which the server acts itself: as its own client, and towards kubelets.

import type { UserInfo } from './request.ts';

/** As upstream's loopback client. */
export const API_SERVER_USER: UserInfo = { name: 'system:apiserver', groups: ['system:masters'] };
