// The place of audit logging in the chain. Not built yet: requests pass.

import type { Filter } from '../request.ts';

export const audit: Filter = (next) => next;
