export { StorageVersionMigrator } from './storage-version-migrator.ts';
