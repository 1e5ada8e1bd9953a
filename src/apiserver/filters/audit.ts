// The place of audit logging in the chain. It is not implemented yet: requests pass unchanged.

import type { Filter } from '../request.ts';

export const audit: Filter = (next) => next;
