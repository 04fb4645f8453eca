export { migrate } from './apply-migrations.ts';

if (import.meta.main) {
  // Services that migrate their embedded database need nothing of the command.
  const { runMigrateCommand } = await import('./migrate-command.ts');
  process.exit(await runMigrateCommand(process.argv.slice(2), process.env));
}
