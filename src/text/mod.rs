//! Every sentence the user sees, Chinese and English side by side.
