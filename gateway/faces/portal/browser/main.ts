import './portal-app.ts';
