import './app.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { live } from './state/live.svelte';
import { route } from './state/route.svelte';

route.start();
live.start();
mount(App, { target: document.getElementById('page')! });
