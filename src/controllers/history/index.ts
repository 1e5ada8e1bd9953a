// The revision history of pod templates, in ControllerRevisions.

export { History } from './history.ts';
export type { HistoryConfig, Update } from './history.ts';
export {
  beyondLimit,
  byRevision,
  newRevision,
  nextRevision,
  REVISION_HASH,
  sameData,
  templateData,
  templateOf,
} from './revisions.ts';
export type { NewRevision, NextRevision, ReadRevision, RevisionData } from './revisions.ts';
